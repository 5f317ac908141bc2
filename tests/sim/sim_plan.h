#pragma once

#include "base/prng.h"
#include "sim/sim_disk.h"
#include "sim/sim_engine.h"

namespace kvstream::test {

/// What one seed decides before its simulation begins.
struct SimPlan {
  explicit SimPlan(uint64_t seed);

  core::CoreOptions core;
  bool faulty = false;   ///< Faults come and go.
  bool foreign = false;  ///< Another owner writes to the shared tiers.
  size_t keys = 0;
  uint32_t blocks_max = 0;                 ///< Of one chunk.
  uint32_t actions = 0;                    ///< Of the host.
  std::chrono::nanoseconds action_gap{0};  ///< Mean.
  uint32_t restart_at = 0;                 ///< After this many actions; 0: never.
  bool crash = false;                      ///< The restart is one.
  bool power_cut = false;                  ///< The crash is one.
  bool snapshots = false;                  ///< Orderly restarts write them.
  std::vector<SimDevice> devices;
  uint64_t file_system_bytes = UINT64_MAX;
};

/// A random fault of a lane's transfers (`transfer`) or of the files around them.
FaultRule RandomFault(base::Prng& random, bool transfer);

/// A routing that any number of tiers can do.
RoutingOptions RandomRouting(base::Prng& random, uint32_t tiers);

SimDevice RandomDevice(base::Prng& random);

}  // namespace kvstream::test
