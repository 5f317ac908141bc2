#include "io/block_pool.h"

#include <cerrno>
#include <cstdint>

#include "base/assert.h"
#include "io/huge_memory.h"

namespace kvstream::io {

Result<std::unique_ptr<BlockPool>> BlockPool::Create(size_t block_bytes, size_t capacity) {
  KVS_ASSERT(block_bytes > 0 && block_bytes % 4096 == 0);
  KVS_ASSERT(capacity > 0);
  if (capacity > SIZE_MAX / block_bytes) {
    return Error(ErrorCode::kNoSpace, "block pool exceeds the address space", ENOMEM);
  }
  size_t region_bytes = block_bytes * capacity;
  KVS_TRY_ASSIGN(std::byte * region, MapHugeMemory(&region_bytes, OnFork::kWipe));
  return std::unique_ptr<BlockPool>(new BlockPool(region, region_bytes, block_bytes, capacity));
}

BlockPool::BlockPool(std::byte* region, size_t region_bytes, size_t block_bytes, size_t capacity)
    : region_(region),
      region_bytes_(region_bytes),
      block_bytes_(block_bytes),
      capacity_(capacity),
      taken_(capacity, false) {
  free_.reserve(capacity);
  for (size_t index = capacity; index > 0; --index) free_.push_back(index - 1);
}

BlockPool::~BlockPool() {
  KVS_ASSERT(free_.size() == capacity_);
  UnmapHugeMemory(region_, region_bytes_);
}

std::byte* BlockPool::TryTake() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return nullptr;
  const size_t index = free_.back();
  free_.pop_back();
  KVS_ASSERT(!taken_[index]);
  taken_[index] = true;
  return region_ + index * block_bytes_;
}

void BlockPool::Give(std::byte* block) {
  KVS_ASSERT(block >= region_ && block < region_ + block_bytes_ * capacity_);
  const auto distance = static_cast<size_t>(block - region_);
  KVS_ASSERT(distance % block_bytes_ == 0);
  const size_t index = distance / block_bytes_;
  const std::lock_guard lock(mutex_);
  KVS_ASSERT(taken_[index]);
  taken_[index] = false;
  free_.push_back(index);
}

size_t BlockPool::free_blocks() const {
  const std::lock_guard lock(mutex_);
  return free_.size();
}

}  // namespace kvstream::io
