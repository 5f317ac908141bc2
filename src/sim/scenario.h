#pragma once

#include <cstdint>
#include <vector>

#include "kvstream/options.h"
#include "kvstream/status.h"

#include "model/presets.h"
#include "model/roofline.h"
#include "sim/device.h"
#include "sim/node_storage.h"
#include "trace/request_trace.h"

namespace kvstream::sim {

/// Memory for KV of one rank, bytes. Together they are M; requests in flight must fit into `gpu`.
struct MemoryOptions {
  uint64_t gpu_bytes = 35'000'000'000;
  uint64_t host_bytes = 80'000'000'000;
};

/// Continuous batching without chunked prefill.
struct BatchOptions {
  uint32_t running_max = 256;  ///< Requests between admission and last token.
  /// Prompt tokens that one prefill step computes, those found in a cache not counted. A single
  /// request above it makes a step of its own.
  uint32_t prefill_tokens_max = 32768;
};

/// What a run's figures leave out: requests among the first `requests` of the trace, or that arrive
/// before `seconds`. Both 0: nothing.
struct WarmupOptions {
  uint64_t requests = 0;
  double seconds = 0;
};

/// How turns of one session wait for each other.
enum class TurnRule : uint8_t {
  /// kAfterAnswer where most later turns are long enough to contain prompt and answer of the one
  /// before, else kIndependent.
  kFromPrompts,
  /// A turn that arrives before the previous answer is finished is held until then.
  kAfterAnswer,
  /// Requests of a session do not build on each other's answers: questions about one document.
  kIndependent,
};

/// One run in trace mode. A plain value; no I/O.
struct Scenario {
  /// Not owned; many runs may share it.
  const trace::RequestTrace* trace = nullptr;
  TurnRule turns = TurnRule::kFromPrompts;

  model::ModelPreset model;
  model::GpuPreset gpu;
  model::Efficiency efficiency;
  uint32_t ranks = 4;  ///< Tensor-parallel, in lockstep.
  uint32_t nodes = 1;  ///< Data parallel, at most kNodesMax; sessions are dealt out in turn.

  MemoryOptions memory;
  BatchOptions batch;
  /// None: CPU-only, evicted prefixes are computed again.
  std::vector<TierModel> tiers;
  /// Routing, write policy, stage, link to the GPU: per rank.
  StorageOptions storage;
  /// Keep the KV of decoded tokens too: it stays in memory, is written, and the session's next turn
  /// finds it if its prompt contains the answer.
  bool store_decoded = false;

  WarmupOptions warmup;
  uint64_t seed = 1;
  /// Keep the list of D_i's chunks of each step: for step logs, not for figures.
  bool keep_chunks = false;
};

inline constexpr uint32_t kNodesMax = 64;

/// What kFromPrompts means for this trace.
TurnRule TurnRuleOf(const trace::RequestTrace& trace);

/// kInvalidArgument, naming the field and what is accepted.
Status Validate(const Scenario& scenario);

}  // namespace kvstream::sim
