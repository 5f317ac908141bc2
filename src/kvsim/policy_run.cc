#include "kvsim/policy_run.h"

#include <optional>
#include <utility>

#include "kvsim/parallel.h"
#include "sim/simulation.h"

namespace kvstream::kvsim {

Result<PolicyRun> RunPolicy(const Setup& setup, const SimPolicy& policy, uint64_t host_bytes) {
  sim::Scenario scenario = setup.scenario;
  scenario.memory.host_bytes = host_bytes;
  ApplyPolicy(policy, setup.tiers, &scenario);
  PolicyRun run;
  run.policy = policy;
  for (const sim::TierModel& tier : scenario.tiers) run.tier_names.push_back(tier.name);
  auto results = sim::Run(scenario);
  if (!results) return std::move(results).error().WithContext("--policy " + policy.label);
  run.results = std::move(*results);
  return run;
}

Result<std::vector<PolicyRun>> RunPolicies(const Setup& setup, uint64_t host_bytes) {
  std::vector<std::optional<Result<PolicyRun>>> done(setup.policies.size());
  ForEachOnAllCores(done.size(), [&](size_t index) {
    done[index].emplace(RunPolicy(setup, setup.policies[index], host_bytes));
  });
  std::vector<PolicyRun> runs;
  for (auto& run : done) {
    if (!run) return Error(ErrorCode::kShutdown, "interrupted");
    if (!*run) return std::move(*run).error();
    runs.push_back(std::move(**run));
  }
  return runs;
}

}  // namespace kvstream::kvsim
