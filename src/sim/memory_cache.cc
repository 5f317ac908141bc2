#include "sim/memory_cache.h"

#include <optional>

#include "base/assert.h"

namespace kvstream::sim {

MemoryCache::MemoryCache(const MemoryOptions& options, uint64_t chunk_bytes)
    : chunk_bytes_(chunk_bytes),
      all_(options.gpu_bytes + options.host_bytes),
      gpu_(options.gpu_bytes) {
  KVS_ASSERT(chunk_bytes > 0);
}

bool MemoryCache::Fits(std::span<const uint64_t> ids, uint64_t private_bytes) const {
  const uint64_t room = gpu_.capacity_bytes() - in_flight_bytes_;
  if (private_bytes > room) return false;
  uint64_t chunks_left = (room - private_bytes) / chunk_bytes_;
  for (const uint64_t id : ids) {
    if (gpu_.pinned(static_cast<uint32_t>(id))) continue;
    if (chunks_left == 0) return false;
    --chunks_left;
  }
  return true;
}

void MemoryCache::Admit(std::span<const uint64_t> ids, uint64_t private_bytes) {
  // Pinned before anything is evicted, so that a request never evicts its own prefix.
  for (const uint64_t id : ids) {
    const auto slot = static_cast<uint32_t>(id);
    if (!gpu_.pinned(slot)) in_flight_bytes_ += chunk_bytes_;
    gpu_.Pin(slot);
    all_.Pin(slot);
  }
  in_flight_bytes_ += private_bytes;
  for (cache::LruIndex* index : {&all_, &gpu_}) {
    MakeRoom(*index, private_bytes);
    KVS_ASSERT(index->TryReserve(private_bytes));
    for (auto id = ids.rbegin(); id != ids.rend(); ++id) Use(*index, static_cast<uint32_t>(*id));
  }
}

void MemoryCache::Finish(std::span<const uint64_t> ids, uint64_t private_bytes) {
  for (const uint64_t id : ids) {
    const auto slot = static_cast<uint32_t>(id);
    all_.Unpin(slot);
    gpu_.Unpin(slot);
    if (gpu_.pinned(slot)) continue;
    KVS_ASSERT(in_flight_bytes_ >= chunk_bytes_);
    in_flight_bytes_ -= chunk_bytes_;
  }
  all_.Release(private_bytes);
  gpu_.Release(private_bytes);
  KVS_ASSERT(in_flight_bytes_ >= private_bytes);
  in_flight_bytes_ -= private_bytes;
}

void MemoryCache::Keep(std::span<const uint64_t> ids) {
  for (cache::LruIndex* index : {&all_, &gpu_}) {
    for (auto id = ids.rbegin(); id != ids.rend(); ++id) Use(*index, static_cast<uint32_t>(*id));
  }
}

void MemoryCache::Use(cache::LruIndex& index, uint32_t id) {
  if (index.Touch(id)) return;
  MakeRoom(index, chunk_bytes_);
  KVS_ASSERT(index.Insert(id, chunk_bytes_));
}

void MemoryCache::MakeRoom(cache::LruIndex& index, uint64_t bytes) {
  while (index.free_bytes() < bytes) {
    const std::optional<uint32_t> victim = index.Victim();
    KVS_ASSERT(victim.has_value());
    index.Erase(*victim);
  }
}

}  // namespace kvstream::sim
