#include "kvstream/buffer.h"

#include <utility>

#include "io/huge_memory.h"

namespace kvstream {

Result<Buffer> Buffer::Allocate(size_t bytes) {
  if (bytes == 0) return Error(ErrorCode::kInvalidArgument, "a buffer needs at least 1 byte");
  KVS_TRY_ASSIGN(std::byte * data, io::MapHugeMemory(&bytes, io::OnFork::kCopy));
  return Buffer(data, bytes);
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  Buffer taken(std::move(other));
  std::swap(data_, taken.data_);
  std::swap(size_, taken.size_);
  return *this;
}

Buffer::~Buffer() {
  if (data_ != nullptr) io::UnmapHugeMemory(data_, size_);
}

}  // namespace kvstream
