#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kvstream/status.h"

#include "sim/device.h"
#include "sim/node_storage.h"
#include "sim/step_log_reader.h"

namespace kvstream::sim {

struct StepLogOptions {
  StorageOptions storage{};
  /// Replays only this policy's lines; empty: those of the first policy in the log.
  std::string logged_policy{};
  /// Tiers with their own bandwidth and latency, per rank, in the log's order. None: each step has
  /// the bandwidths its tiers showed in the log (those of the step, or the last before it).
  std::vector<TierModel> tiers{};
  /// False: a step's chunks are where the log says. True: chunks are placed by the write policy
  /// when they first appear, as if the step before had written them, and copied as it says; the
  /// log's holders are ignored.
  bool replay_writes = false;
  uint64_t seed = 1;
};

struct StepLogResult {
  uint64_t step = 0;
  StepStorage storage;
  double forward_s = 0;
  double logged_retrieval_s = 0;
};

struct StepLogResults {
  std::vector<StepLogResult> steps;
  StorageTotals totals;
  double retrieval_s = 0;  ///< Sum over steps.
  double bound_s = 0;      ///< Sum over steps, for the copies that a full replication has.
  double logged_retrieval_s = 0;
  uint64_t hash = 0;           ///< Of every step's figures: same log, options and seed, same hash.
  uint64_t assumed_steps = 0;  ///< Steps with a tier whose bandwidth comes from an earlier step.

  double gap() const { return bound_s > 0 ? retrieval_s / bound_s - 1 : 0; }
};

/// Replays the steps of a log one after the other: reads, forward pass, writes. kInvalidArgument:
/// the log has no chunk lists, no such policy, or another number of tiers. kCorruption: a
/// conservation check failed. Pure; any thread.
Result<StepLogResults> RunStepLog(const StepLog& log, const StepLogOptions& options);

}  // namespace kvstream::sim
