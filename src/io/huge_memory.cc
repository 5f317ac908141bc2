#include "io/huge_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include <fmt/format.h>

#include "base/assert.h"

namespace kvstream::io {
namespace {

void Unmap(std::byte* data, size_t bytes) {
  if (bytes == 0) return;
  KVS_ASSERT(munmap(data, bytes) == 0);
}

// Maps 2 MiB more than asked for and gives back what is outside the aligned part.
std::byte* MapAligned(size_t bytes) {
  const size_t mapped_bytes = bytes + kHugePageBytes;
  void* mapping =
      mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(mapping);
  const size_t head_bytes =
      (kHugePageBytes - reinterpret_cast<uintptr_t>(begin) % kHugePageBytes) % kHugePageBytes;
  std::byte* const data = begin + head_bytes;
  Unmap(begin, head_bytes);
  Unmap(data + bytes, mapped_bytes - head_bytes - bytes);
  return data;
}

// Returns 0 or an errno. MADV_POPULATE_WRITE (Linux 5.14) reports missing memory instead of raising
// SIGBUS, and is several times faster than touching.
int Populate(std::byte* data, size_t bytes) {
  while (madvise(data, bytes, MADV_POPULATE_WRITE) != 0) {
    if (errno == EINTR || errno == EAGAIN) continue;
    if (errno != EINVAL) return errno;
    const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    for (size_t at = 0; at < bytes; at += page_bytes) {
      static_cast<volatile std::byte*>(data)[at] = std::byte{0};
    }
    return 0;
  }
  return 0;
}

}  // namespace

Result<std::byte*> MapHugeMemory(size_t* bytes, OnFork on_fork) {
  KVS_ASSERT(*bytes > 0);
  if (*bytes > SIZE_MAX / 2) {
    return Error(ErrorCode::kNoSpace, fmt::format("cannot map {} bytes of memory", *bytes), ENOMEM);
  }
  *bytes = (*bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  std::byte* const data = MapAligned(*bytes);
  if (data == nullptr) {
    return Error(ErrorCode::kNoSpace, fmt::format("cannot map {} bytes of memory", *bytes), errno);
  }
  // Both are savings, not promises: a kernel without transparent huge pages, or before
  // 4.14, refuses.
  static_cast<void>(madvise(data, *bytes, MADV_HUGEPAGE));
  if (on_fork == OnFork::kWipe) static_cast<void>(madvise(data, *bytes, MADV_WIPEONFORK));
  if (const int error = Populate(data, *bytes); error != 0) {
    Unmap(data, *bytes);
    return Error(ErrorCode::kNoSpace, fmt::format("cannot back {} bytes of memory", *bytes), error);
  }
  return data;
}

void UnmapHugeMemory(std::byte* data, size_t bytes) { Unmap(data, bytes); }

}  // namespace kvstream::io
