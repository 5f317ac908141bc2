#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace kvstream::base {

/// A vector that grows by pages: elements never move, and growing never copies or doubles memory.
/// Elements are value-initialised. Not thread-safe.
template <typename T>
class PagedVector {
 public:
  T& operator[](size_t index) { return pages_[index / kPageItems][index % kPageItems]; }
  const T& operator[](size_t index) const { return pages_[index / kPageItems][index % kPageItems]; }

  size_t size() const { return size_; }

  /// Grows to at least `size` elements.
  void EnsureSize(size_t size) {
    while (pages_.size() * kPageItems < size) pages_.push_back(std::make_unique<T[]>(kPageItems));
    if (size > size_) size_ = size;
  }

 private:
  static constexpr size_t kPageItems = 4096;

  std::vector<std::unique_ptr<T[]>> pages_;
  size_t size_ = 0;
};

}  // namespace kvstream::base
