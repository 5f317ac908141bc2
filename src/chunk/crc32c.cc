#include "chunk/crc32c.h"

#include <algorithm>

#include <isa-l/crc.h>

namespace kvstream::chunk {

uint32_t Crc32c(std::span<const std::byte> data) { return ExtendCrc32c(0, data); }

uint32_t ExtendCrc32c(uint32_t crc, std::span<const std::byte> data) {
  // ISA-L inverts neither before nor after, counts in int, and takes a non-const pointer it only
  // reads.
  constexpr size_t kBytesMax = size_t{1} << 30;
  uint32_t state = ~crc;
  while (!data.empty()) {
    const size_t bytes = std::min(data.size(), kBytesMax);
    auto* begin = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(data.data()));
    state = crc32_iscsi(begin, static_cast<int>(bytes), state);
    data = data.subspan(bytes);
  }
  return ~state;
}

}  // namespace kvstream::chunk
