#pragma once

#include <cstdint>
#include <vector>

#include "cache/lru_index.h"

namespace kvstream::cli {

/// The host memory in front of storage, as an index only: which chunks would still be there. All
/// chunks have `chunk_bytes`; ids are dense and below 2^32. Not thread-safe.
class HostCache {
 public:
  HostCache(uint64_t capacity_bytes, uint64_t chunk_bytes)
      : index_(capacity_bytes), chunk_bytes_(chunk_bytes) {}

  bool Contains(uint64_t id) const { return index_.Contains(static_cast<uint32_t>(id)); }

  /// The prefix has been in memory: its chunks become the most recently used, tail first, so that
  /// the head is evicted last. Without room for one chunk nothing is kept.
  void Use(const std::vector<uint64_t>& prefix);

  uint64_t used_bytes() const { return index_.used_bytes(); }

 private:
  void UseChunk(uint32_t slot);

  cache::LruIndex index_;
  uint64_t chunk_bytes_;
};

}  // namespace kvstream::cli
