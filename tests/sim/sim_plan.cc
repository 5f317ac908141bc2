#include "sim/sim_plan.h"

#include <cerrno>
#include <cmath>

namespace kvstream::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

template <typename T, size_t kCount>
T Pick(base::Prng& random, const T (&choices)[kCount]) {
  return choices[random.Below(kCount)];
}

/// Between 10^low and 10^high, equally likely in each decade.
double PowerOfTen(base::Prng& random, double low, double high) {
  return std::pow(10.0, low + (high - low) * random.Uniform());
}

core::CoreTier RandomTier(base::Prng& random, uint32_t index, const SimPlan& plan) {
  core::CoreTier tier;
  tier.name = "t" + std::to_string(index);
  const uint64_t chunk_bytes = (plan.blocks_max / 2 + 2) * uint64_t{kSimBlockBytes};
  tier.capacity_bytes = (2 + random.Below(plan.keys + 4)) * chunk_bytes + random.Below(5000);
  if (random.Chance(0.03)) tier.capacity_bytes = 3 * kSimBlockBytes;
  tier.bounce = random.Chance(0.4);
  tier.shared = random.Chance(0.4);
  tier.window_bytes_max = Pick(random, {4u, 16u, 64u}) * uint64_t{kSimBlockBytes};
  return tier;
}

WriteOptions RandomWriteOptions(base::Prng& random) {
  WriteOptions write;
  write.stage_bytes = Pick(random, {16u, 32u, 64u, 256u}) * uint64_t{kSimBlockBytes};
  write.high_water = Pick(random, {0.3, 0.75, 1.0});
  write.age_max = Pick(random, {milliseconds(5), milliseconds(50), milliseconds(500)});
  write.idle_delay = Pick(random, {microseconds(100), microseconds(2000), microseconds(20000)});
  write.window_bytes = Pick(random, {4u, 8u, 16u}) * uint64_t{kSimBlockBytes};
  return write;
}

}  // namespace

SimDevice RandomDevice(base::Prng& random) {
  SimDevice device;
  device.bytes_per_second = static_cast<uint64_t>(PowerOfTen(random, 6.5, 8.5));
  device.latency = nanoseconds(static_cast<int64_t>(PowerOfTen(random, 4.0, 6.9)));
  return device;
}

RoutingOptions RandomRouting(base::Prng& random, uint32_t tiers) {
  RoutingOptions routing;
  if (random.Chance(0.4)) {
    routing.policy = Pick(random, {Policy::kStaticPosition, Policy::kStaticHash,
                                   Policy::kSingleTier, Policy::kRoundRobin});
  }
  routing.order = Pick(random, {PoolOrder::kJob, PoolOrder::kPool});
  routing.claim_chunks = Pick(random, {0u, 0u, 0u, 1u, 2u, 4u});
  routing.tier = static_cast<uint32_t>(random.Below(tiers));
  if (random.Chance(0.5)) {
    for (uint32_t tier = 0; tier < tiers; ++tier) routing.shares.push_back(1 + random.Uniform());
  }
  return routing;
}

FaultRule RandomFault(base::Prng& random, bool transfer) {
  FaultRule rule;
  rule.error = Pick(random, {EIO, EIO, ESTALE, ENOSPC, EDQUOT, EROFS});
  rule.probability = Pick(random, {0.02, 0.1, 0.5, 1.0});
  if (random.Chance(0.3)) {
    rule.first = 1 + random.Below(5);
    rule.count = 1 + random.Below(4);
  }
  if (!transfer) {
    rule.op = Pick(random, {FaultOp::kOpen, FaultOp::kRename, FaultOp::kUnlink, FaultOp::kAllocate,
                            FaultOp::kRead, FaultOp::kMakeDirectory});
    rule.kind =
        rule.op == FaultOp::kRead && random.Chance(0.5) ? FaultKind::kFlipRead : FaultKind::kErrno;
    return rule;
  }
  rule.op = Pick(random, {FaultOp::kRead, FaultOp::kWrite});
  rule.kind =
      Pick(random, {FaultKind::kErrno, FaultKind::kErrno, FaultKind::kShort,
                    FaultKind::kPartialWrite, FaultKind::kTruncateFile, FaultKind::kFlipRead,
                    FaultKind::kFlipStored, FaultKind::kHang, FaultKind::kHang, FaultKind::kDelay});
  rule.factor = PowerOfTen(random, 1.0, 2.3);
  return rule;
}

SimPlan::SimPlan(uint64_t seed) {
  base::Prng random(seed * 2 + 1);
  faulty = random.Chance(0.65);
  keys = 6 + random.Below(20);
  blocks_max = 1 + static_cast<uint32_t>(random.Below(9));
  const auto tiers = static_cast<uint32_t>(1 + random.Below(3));
  for (uint32_t index = 0; index < tiers; ++index) {
    core.tiers.push_back(RandomTier(random, index, *this));
    devices.push_back(RandomDevice(random));
  }
  foreign = random.Chance(0.25);
  core.routing = RandomRouting(random, tiers);
  core.write = RandomWriteOptions(random);
  core.lease_ttl = Pick(random, {milliseconds(5), milliseconds(50), milliseconds(60000)});
  core.hang_after = faulty ? Pick(random, {milliseconds(30), milliseconds(200), milliseconds(2000)})
                           : milliseconds(5000);
  core.block_bytes = kSimBlockBytes;
  core.bounce_blocks = Pick(random, {4u, 8u, 32u}) * uint64_t{tiers};
  core.seed = random.Next();
  actions = 40 + static_cast<uint32_t>(random.Below(80));
  action_gap = nanoseconds(static_cast<int64_t>(PowerOfTen(random, 4.5, 6.8)));
  if (random.Chance(0.5)) restart_at = 1 + static_cast<uint32_t>(random.Below(actions));
  crash = random.Chance(0.6);
  power_cut = random.Chance(0.3);
  snapshots = random.Chance(0.5);
  if (faulty && random.Chance(0.15)) file_system_bytes = core.tiers[0].capacity_bytes / 2 + 30000;
}

}  // namespace kvstream::test
