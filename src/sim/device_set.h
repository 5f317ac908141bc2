#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/device.h"
#include "sim/event_queue.h"

namespace kvstream::sim {

/// The devices of all nodes: one per node of a local tier, one for all of a shared tier.
class DeviceSet {
 public:
  struct Port {
    Device* device = nullptr;
    uint32_t node = 0;  ///< Of the device's lanes.
  };

  /// 1 to kTiersMax valid tiers. Outlives every NodeStorage on it; `queue` and `tiers` outlive it.
  DeviceSet(std::span<const TierModel> tiers, uint32_t nodes, uint32_t ranks, uint64_t seed,
            EventQueue& queue);

  std::span<const TierModel> tiers() const { return tiers_; }
  uint32_t ranks() const { return ranks_; }
  Port port(uint32_t tier, uint32_t node) const;

 private:
  std::span<const TierModel> tiers_;
  uint32_t ranks_;
  std::vector<std::vector<std::unique_ptr<Device>>> devices_;  // tier, node (one if shared)
};

}  // namespace kvstream::sim
