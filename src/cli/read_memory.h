#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kvstream/buffer.h"
#include "kvstream/status.h"

namespace kvstream::cli {

/// Memory for the chunks of a step: equal slots in huge-page buffers, kept from step to step and
/// only ever growing. Slots begin on 4 KiB boundaries, so that direct reads need no bounce. Not
/// thread-safe.
class ReadMemory {
 public:
  explicit ReadMemory(uint64_t chunk_bytes);

  /// Makes at least `slots` slots available; blocks while the memory is touched. kNoSpace.
  Status Reserve(size_t slots);

  size_t slots() const { return buffers_.size() * slots_per_buffer_; }
  /// `chunk_bytes` bytes; `index` < slots().
  std::span<std::byte> slot(size_t index);

 private:
  uint64_t chunk_bytes_;
  uint64_t stride_bytes_;
  size_t slots_per_buffer_;
  std::vector<Buffer> buffers_;
};

}  // namespace kvstream::cli
