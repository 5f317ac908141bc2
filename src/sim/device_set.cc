#include "sim/device_set.h"

#include "base/assert.h"
#include "base/prng.h"

namespace kvstream::sim {

DeviceSet::DeviceSet(std::span<const TierModel> tiers, uint32_t nodes, uint32_t ranks,
                     uint64_t seed, EventQueue& queue)
    : tiers_(tiers), ranks_(ranks) {
  KVS_ASSERT(!tiers.empty() && tiers.size() <= kTiersMax && nodes > 0);
  base::Prng seeds(seed);
  for (const TierModel& tier : tiers) {
    const uint32_t devices = tier.shared ? 1 : nodes;
    auto& of_tier = devices_.emplace_back();
    for (uint32_t device = 0; device < devices; ++device) {
      const Device::Options options{
          .nodes = tier.shared ? nodes : 1, .ranks = ranks, .seed = seeds.Next()};
      of_tier.push_back(std::make_unique<Device>(tier, options, queue));
    }
  }
}

DeviceSet::Port DeviceSet::port(uint32_t tier, uint32_t node) const {
  const bool shared = tiers_[tier].shared;
  return {.device = devices_[tier][shared ? 0 : node].get(), .node = shared ? node : 0};
}

}  // namespace kvstream::sim
