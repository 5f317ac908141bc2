#pragma once

#include <string>
#include <vector>

#include "kvstream/status.h"

#include "kvsim/scenario_flags.h"
#include "sim/results.h"

namespace kvstream::kvsim {

/// One policy over one trace, and what came out.
struct PolicyRun {
  SimPolicy policy;
  std::vector<std::string> tier_names;  ///< Of the tiers that this policy has.
  sim::Results results;
};

/// `host_bytes` is M's part in host memory, per rank. Pure; any thread.
Result<PolicyRun> RunPolicy(const Setup& setup, const SimPolicy& policy, uint64_t host_bytes);

/// Several policies over the same trace; the first error, if any. On all cores.
Result<std::vector<PolicyRun>> RunPolicies(const Setup& setup, uint64_t host_bytes);

}  // namespace kvstream::kvsim
