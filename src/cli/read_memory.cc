#include "cli/read_memory.h"

#include <algorithm>

#include "kvstream/options.h"

#include "base/assert.h"

namespace kvstream::cli {
namespace {

constexpr uint64_t kAlignment = 4 * kKiB;
constexpr uint64_t kBufferBytes = 64 * kMiB;

}  // namespace

ReadMemory::ReadMemory(uint64_t chunk_bytes)
    : chunk_bytes_(chunk_bytes),
      stride_bytes_((chunk_bytes + kAlignment - 1) / kAlignment * kAlignment),
      slots_per_buffer_(0) {
  KVS_ASSERT(chunk_bytes > 0);
  slots_per_buffer_ = std::max<uint64_t>(1, kBufferBytes / stride_bytes_);
}

Status ReadMemory::Reserve(size_t slots) {
  while (this->slots() < slots) {
    KVS_TRY_ASSIGN(Buffer buffer, Buffer::Allocate(slots_per_buffer_ * stride_bytes_));
    buffers_.push_back(std::move(buffer));
  }
  return {};
}

std::span<std::byte> ReadMemory::slot(size_t index) {
  KVS_ASSERT(index < slots());
  return buffers_[index / slots_per_buffer_].span().subspan(
      index % slots_per_buffer_ * stride_bytes_, chunk_bytes_);
}

}  // namespace kvstream::cli
