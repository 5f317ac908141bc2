#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kvstream/options.h"

#include "cache/lru_index.h"
#include "sim/device.h"

namespace kvstream::sim {

/// Which chunks each tier of a node holds, each tier with its own capacity and LRU. Per rank. Not
/// thread-safe.
class TierSet {
 public:
  TierSet(std::span<const TierModel> tiers, uint32_t ranks);

  uint32_t count() const { return static_cast<uint32_t>(tiers_.size()); }
  TierMask all() const { return static_cast<TierMask>((1u << tiers_.size()) - 1); }
  TierMask Holders(uint32_t id) const;

  void Touch(uint32_t id);
  void Pin(uint32_t id, TierMask tiers);
  void Unpin(uint32_t id, TierMask tiers);

  /// Sets room aside for a copy, evicting as needed. False, and some may be evicted, without room.
  bool MakeRoom(uint32_t tier, uint64_t bytes);
  /// Makes a copy out of room that was set aside.
  void Commit(uint32_t tier, uint32_t id, uint64_t bytes);
  void Erase(uint32_t tier, uint32_t id);

  uint64_t evicted_bytes(uint32_t tier) const { return tiers_[tier].evicted_bytes; }
  uint64_t used_bytes(uint32_t tier) const { return tiers_[tier].lru->used_bytes(); }

 private:
  struct Tier {
    std::unique_ptr<cache::LruIndex> lru;
    uint64_t evicted_bytes = 0;
  };

  std::vector<Tier> tiers_;
};

}  // namespace kvstream::sim
