#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "kvstream/status.h"

namespace kvstream::io {

/// A fixed number of equal blocks of memory, aligned to 4 KiB (to their size where that is a power
/// of two up to 2 MiB), in one region on huge pages, touched at creation. The one taken next is the
/// one given last, still warm. Blocks keep their old contents.
///
/// Any thread. All blocks must have been given back before the destructor runs: it frees memory
/// that the kernel may otherwise still write to. Who cannot wait for that leaks the pool.
class BlockPool {
 public:
  /// `block_bytes` is a multiple of 4096, `capacity` > 0. kNoSpace if the memory cannot be mapped.
  static Result<std::unique_ptr<BlockPool>> Create(size_t block_bytes, size_t capacity);
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// nullptr when all blocks are taken.
  std::byte* TryTake();
  /// Takes back what TryTake returned, once.
  void Give(std::byte* block);

  size_t free_blocks() const;
  size_t block_bytes() const { return block_bytes_; }
  size_t capacity() const { return capacity_; }

 private:
  BlockPool(std::byte* region, size_t region_bytes, size_t block_bytes, size_t capacity);

  std::byte* const region_;
  const size_t region_bytes_;
  const size_t block_bytes_;
  const size_t capacity_;

  mutable std::mutex mutex_;
  std::vector<size_t> free_;  // indices, the warmest last
  std::vector<bool> taken_;
};

}  // namespace kvstream::io
