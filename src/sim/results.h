#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kvstream/options.h"

#include "sim/step_storage.h"
#include "sim/storage_chunk.h"

namespace kvstream::sim {

/// Prompt tokens by where their KV came from. They add up to the prompt (A9).
struct TokenCounts {
  uint64_t gpu = 0;
  uint64_t host = 0;
  uint64_t storage = 0;
  uint64_t missed = 0;  ///< Computed.

  uint64_t total() const { return gpu + host + storage + missed; }
  TokenCounts& operator+=(const TokenCounts& other);
};

/// Seconds are those of virtual time, from the start of the run.
struct RequestResult {
  uint32_t node = 0;
  bool refused = false;  ///< Its KV does not fit into the GPU; the times below are its arrival.
  bool warmup = false;   ///< Not in the figures.
  double arrival_s = 0;  ///< As it reached the node: held turns arrive when they are released.
  double admitted_s = 0;
  double first_token_s = 0;
  double finished_s = 0;
  TokenCounts tokens;

  double wait_s() const { return admitted_s - arrival_s; }
  double ttft_s() const { return first_token_s - arrival_s; }
  double latency_s() const { return finished_s - arrival_s; }
};

/// A chunk of D_i with the copies it had when the step began.
struct StepChunk {
  StorageChunk chunk;
  TierMask holders = 0;
  bool staged = false;
};

/// One prefill step: docs/step_log.md has the same figures. Bytes are those of one rank.
struct StepResult {
  uint64_t step = 0;  ///< Of its node, from 1.
  uint32_t node = 0;
  uint32_t requests = 0;
  double begin_s = 0;  ///< Its batch was chosen.
  StepStorage storage;
  uint64_t host_bytes = 0;  ///< Copied from host memory to the GPU.
  uint64_t computed_tokens = 0;
  double forward_s = 0;  ///< T_fwd
  bool warmup = false;
  std::vector<StepChunk> chunks;  ///< Only with Scenario::keep_chunks.

  /// T_i of Eq. 1.
  double seconds() const { return storage.write_wait_s + storage.retrieval_s + forward_s; }
};

/// Mean and percentiles (nearest rank) of a set of values; all 0 without values.
struct Distribution {
  uint64_t count = 0;
  double mean = 0;
  double sd = 0;
  double p10 = 0;
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  double max = 0;
};
Distribution Describe(std::vector<double> values);

struct TrafficCounts {
  uint64_t requests = 0;
  TokenCounts prompt;
  uint64_t output_tokens = 0;
};

/// Where the time of prefill steps and decode steps went; seconds, all nodes together.
struct TimeShares {
  double retrieval_s = 0;
  double forward_s = 0;
  double write_wait_s = 0;
  double decode_s = 0;

  double total_s() const { return retrieval_s + forward_s + write_wait_s + decode_s; }
};

/// Figures over the measured part of a run. Storage bytes are those of one rank, all nodes
/// together, of the whole run.
struct Summary {
  TrafficCounts warmup;
  TrafficCounts measured;
  uint64_t refused = 0;
  uint64_t held_turns = 0;  ///< Arrived before the session's last answer was finished.
  /// Reuse that a full chunk does not cover; in the whole trace.
  uint64_t lost_tokens = 0;

  double duration_s = 0;  ///< First measured arrival to last measured token.
  double requests_per_s = 0;
  double input_tokens_per_s = 0;
  double output_tokens_per_s = 0;
  Distribution ttft_s;
  Distribution wait_s;
  Distribution latency_s;

  uint64_t steps = 0;  ///< Measured prefill steps.
  TimeShares time;
  /// "retrieval", "forward", "write wait" or "decode": the largest of `time`.
  std::string_view dominant;
  /// Retrieval's share of the time of prefill steps (Eq. 1).
  double retrieval_share = 0;
  /// Share of the time in which the nodes had something to do.
  double utilisation = 0;

  uint64_t demand_bytes = 0;  ///< D, measured steps.
  /// Of steps with demand, at least two tiers and no assumed bandwidth: tier 0's share of the
  /// bandwidth (Eq. 4).
  Distribution phi;
  double bound_s = 0;  ///< Σ T̄ of steps with demand.
  double gap = 0;      ///< Σ T_ret / Σ T̄ - 1 over them; 0 without.
  double partial_gap = 0;
  uint64_t assumed_steps = 0;  ///< Of them, with a tier whose bandwidth had to be assumed.

  StorageTotals storage;
  double write_amplification = 0;
  uint64_t dropped_bytes = 0;
};

/// One run. A plain value.
struct Results {
  std::vector<RequestResult> requests;  ///< In the order of the trace.
  std::vector<StepResult> steps;        ///< In the order in which they ended.
  Summary summary;
  /// Outside of what the model was checked on; whole sentences.
  std::vector<std::string> warnings;
  /// FigureHash of every figure of every request and step: same scenario, same hash.
  uint64_t hash = 0;
};

}  // namespace kvstream::sim
