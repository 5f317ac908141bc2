#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "chunk/chunk_meta.h"

namespace kvstream::engine {

/// The parts of `segments` that hold payload bytes [begin, begin + bytes), in order. Requires that
/// they reach that far.
template <typename Byte>
std::vector<std::span<Byte>> PayloadRange(std::span<const std::span<Byte>> segments, uint64_t begin,
                                          uint64_t bytes) {
  std::vector<std::span<Byte>> parts;
  for (const std::span<Byte> segment : segments) {
    if (bytes == 0) break;
    if (begin >= segment.size()) {
      begin -= segment.size();
      continue;
    }
    const auto part = segment.subspan(begin, std::min<uint64_t>(bytes, segment.size() - begin));
    parts.push_back(part);
    bytes -= part.size();
    begin = 0;
  }
  return parts;
}

/// Copies the first bytes of `from` over `to`, which is not longer.
void CopyParts(std::span<const std::span<const std::byte>> from,
               std::span<const std::span<std::byte>> to);

/// CRC-32C over the parts in order.
uint32_t PartsCrc32c(std::span<const std::span<const std::byte>> parts);

/// The same spans, read-only.
std::vector<std::span<const std::byte>> ReadOnly(std::span<const std::span<std::byte>> parts);

/// Whether O_DIRECT takes every part: addresses and lengths multiples of kAlignBytes.
bool IsAligned(std::span<const std::span<const std::byte>> parts);

}  // namespace kvstream::engine
