#include "cli/host_cache.h"

#include "base/assert.h"

namespace kvstream::cli {

void HostCache::Use(const std::vector<uint64_t>& prefix) {
  if (index_.capacity_bytes() < chunk_bytes_) return;
  for (auto id = prefix.rbegin(); id != prefix.rend(); ++id) {
    KVS_ASSERT(*id < UINT32_MAX);
    UseChunk(static_cast<uint32_t>(*id));
  }
}

void HostCache::UseChunk(uint32_t slot) {
  if (index_.Touch(slot)) return;
  while (!index_.Insert(slot, chunk_bytes_)) {
    const auto victim = index_.Victim();
    KVS_ASSERT(victim.has_value());
    index_.Erase(*victim);
  }
}

}  // namespace kvstream::cli
