#pragma once

#include <cstdint>
#include <span>

#include "cache/lru_index.h"
#include "sim/scenario.h"

namespace kvstream::sim {

/// What one rank keeps above storage: one LRU over GPU and host memory together (M), whose most
/// recently used part is on the GPU. Requests in flight pin their chunks on the GPU and reserve
/// what they have beyond full chunks; Eq. 2 leaves that out. Bookkeeping only; all chunks have the
/// same size. Not thread-safe.
class MemoryCache {
 public:
  enum class Place : uint8_t { kNone, kHost, kGpu };

  /// `chunk_bytes` > 0.
  MemoryCache(const MemoryOptions& options, uint64_t chunk_bytes);

  Place Find(uint32_t id) const {
    if (gpu_.Contains(id)) return Place::kGpu;
    return all_.Contains(id) ? Place::kHost : Place::kNone;
  }

  /// Whether a request with these chunks and `private_bytes` besides fits onto the GPU, beside the
  /// requests in flight.
  bool Fits(std::span<const uint64_t> ids, uint64_t private_bytes) const;
  /// Takes a request in that fits: its chunks are on the GPU, the head of the prefix as the last to
  /// be evicted.
  void Admit(std::span<const uint64_t> ids, uint64_t private_bytes);
  /// The request is finished; its chunks stay until they are evicted.
  void Finish(std::span<const uint64_t> ids, uint64_t private_bytes);
  /// Keeps chunks that came into being without a request of their own, tail first.
  void Keep(std::span<const uint64_t> ids);

  bool idle() const { return in_flight_bytes_ == 0; }
  uint64_t in_flight_bytes() const { return in_flight_bytes_; }

 private:
  void Use(cache::LruIndex& index, uint32_t id);
  static void MakeRoom(cache::LruIndex& index, uint64_t bytes);

  uint64_t chunk_bytes_;
  uint64_t in_flight_bytes_ = 0;  // pinned chunks, each once, and reservations
  cache::LruIndex all_;
  cache::LruIndex gpu_;  // what an LRU of the GPU's size keeps: the newest part of all_
};

}  // namespace kvstream::sim
