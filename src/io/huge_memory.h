#pragma once

#include <cstddef>

#include "kvstream/status.h"

namespace kvstream::io {

inline constexpr size_t kHugePageBytes = size_t{2} << 20;

/// Whether a forked child sees the memory. Engine memory is wiped in children: fork then copies
/// no page tables for it, so no write of the parent splits a huge page, and no child can read
/// cached data.
enum class OnFork { kCopy, kWipe };

/// Zeroed private memory, aligned to 2 MiB, on huge pages where the kernel grants them, touched in
/// full, so that later use never faults. `bytes` > 0 is rounded up to kHugePageBytes; *bytes tells
/// the size. kNoSpace if it cannot be mapped or backed. Any thread.
Result<std::byte*> MapHugeMemory(size_t* bytes, OnFork on_fork);
/// Frees what MapHugeMemory returned, with the size it told.
void UnmapHugeMemory(std::byte* data, size_t bytes);

}  // namespace kvstream::io
