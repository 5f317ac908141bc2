#include "engine/payload_view.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "chunk/crc32c.h"

namespace kvstream::engine {

void CopyParts(std::span<const std::span<const std::byte>> from,
               std::span<const std::span<std::byte>> to) {
  size_t source = 0;
  size_t used = 0;
  for (std::span<std::byte> target : to) {
    while (!target.empty()) {
      KVS_ASSERT(source < from.size());
      const size_t bytes = std::min(target.size(), from[source].size() - used);
      std::memcpy(target.data(), from[source].data() + used, bytes);
      target = target.subspan(bytes);
      used += bytes;
      if (used == from[source].size()) {
        ++source;
        used = 0;
      }
    }
  }
}

uint32_t PartsCrc32c(std::span<const std::span<const std::byte>> parts) {
  uint32_t crc = 0;
  for (const auto& part : parts) crc = chunk::ExtendCrc32c(crc, part);
  return crc;
}

std::vector<std::span<const std::byte>> ReadOnly(std::span<const std::span<std::byte>> parts) {
  return {parts.begin(), parts.end()};
}

bool IsAligned(std::span<const std::span<const std::byte>> parts) {
  return std::ranges::all_of(parts, [](std::span<const std::byte> part) {
    return reinterpret_cast<uintptr_t>(part.data()) % chunk::kAlignBytes == 0 &&
           part.size() % chunk::kAlignBytes == 0;
  });
}

}  // namespace kvstream::engine
