#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kvstream/export.h"
#include "kvstream/status.h"

namespace kvstream {

/// Memory that suits the engine: page-aligned, zeroed, touched, backed by huge pages where the
/// kernel grants them. Reads into it need no bounce and cost several times less CPU than into 4 KiB
/// pages. Movable, not copyable; freed by the destructor.
class KVS_EXPORT Buffer {
 public:
  /// `bytes` > 0 is rounded up to 2 MiB. kNoSpace if the memory cannot be mapped.
  static Result<Buffer> Allocate(size_t bytes);

  Buffer() = default;
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  std::span<std::byte> span() { return {data_, size_}; }

 private:
  Buffer(std::byte* data, size_t size) : data_(data), size_(size) {}

  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace kvstream
