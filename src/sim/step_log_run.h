#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kvstream/status.h"

#include "sim/device.h"
#include "sim/node_storage.h"
#include "sim/step_log_reader.h"

namespace kvstream::sim {

struct StepLogOptions {
  StorageOptions storage{};
  /// Replays this policy's lines; empty: those of the first policy in the log.
  std::string logged_policy{};
  /// Other tiers than those of the log, as many, as one rank sees them. None: each step has the
  /// bandwidths its tiers showed in the log. A tier that did not read (or write) in it has those of
  /// the nearest step before that did, else after, else its mean under the log's other policies;
  /// one that never wrote writes as it reads.
  std::vector<TierModel> tiers{};
  /// False: chunks are where the log says, and nothing is written. True: a chunk is placed by the
  /// write policy before the step in which it first appears, and copied later as that says. Writes
  /// end before the next step begins: their cost is in the logged bandwidths already. A prefix ends
  /// where the positions in the log stop rising. Capacity and stage never limit.
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
  double retrieval_s = 0;  ///< Sum over the steps.
  double bound_s = 0;      ///< Sum over the steps, as if every tier held every chunk.
  double logged_retrieval_s = 0;
  uint64_t missed_chunks = 0;  ///< In the log without holder and stage; left out.
  /// Steps in which a tier had no bandwidth of its own (see `tiers`).
  uint64_t assumed_steps = 0;
  uint64_t hash = 0;  ///< Of every step's figures: same log, options and seed, same hash.

  /// replay_writes: bytes that the log wrote and no replayed step read; they count with the copies
  /// that the policy gives a new chunk.
  uint64_t unread_new_bytes = 0;
  double write_amplification =
      0;  ///< Bytes written over new bytes, unread ones included; 0 without.

  /// Σ T_ret / Σ T̄ - 1; 0 without a bound.
  double gap() const { return bound_s > 0 ? retrieval_s / bound_s - 1 : 0; }
};

/// Replays the steps of a log one after the other. kInvalidArgument: the log has no such policy, no
/// chunk lists, a tier that never read, or another number of tiers. kCorruption: a
/// conservation check failed. Pure; any thread.
Result<StepLogResults> RunStepLog(const StepLog& log, const StepLogOptions& options);

}  // namespace kvstream::sim
