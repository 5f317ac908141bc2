#include "sim/tier_set.h"

#include "base/assert.h"

namespace kvstream::sim {

TierSet::TierSet(std::span<const TierModel> tiers, uint32_t ranks) {
  KVS_ASSERT(!tiers.empty() && tiers.size() <= kTiersMax && ranks > 0);
  for (const TierModel& tier : tiers) {
    tiers_.push_back({std::make_unique<cache::LruIndex>(tier.capacity_bytes / ranks), 0});
  }
}

TierMask TierSet::Holders(uint32_t id) const {
  uint32_t mask = 0;
  for (uint32_t tier = 0; tier < tiers_.size(); ++tier) {
    if (tiers_[tier].lru->Contains(id)) mask |= 1u << tier;
  }
  return static_cast<TierMask>(mask);
}

void TierSet::Touch(uint32_t id) {
  for (const Tier& tier : tiers_) tier.lru->Touch(id);
}

void TierSet::Pin(uint32_t id, TierMask tiers) {
  for (uint32_t tier = 0; tier < tiers_.size(); ++tier) {
    if ((tiers >> tier & 1) != 0) tiers_[tier].lru->Pin(id);
  }
}

void TierSet::Unpin(uint32_t id, TierMask tiers) {
  for (uint32_t tier = 0; tier < tiers_.size(); ++tier) {
    if ((tiers >> tier & 1) != 0) tiers_[tier].lru->Unpin(id);
  }
}

bool TierSet::MakeRoom(uint32_t tier, uint64_t bytes) {
  Tier& self = tiers_[tier];
  if (bytes > self.lru->capacity_bytes()) return false;
  while (!self.lru->TryReserve(bytes)) {
    const std::optional<uint32_t> victim = self.lru->Victim();
    if (!victim) return false;
    self.evicted_bytes += self.lru->bytes(*victim);
    self.lru->Erase(*victim);
  }
  return true;
}

void TierSet::Commit(uint32_t tier, uint32_t id, uint64_t bytes) {
  tiers_[tier].lru->Commit(id, bytes);
}

void TierSet::Erase(uint32_t tier, uint32_t id) { tiers_[tier].lru->Erase(id); }

}  // namespace kvstream::sim
