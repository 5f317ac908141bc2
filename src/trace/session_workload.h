#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kvstream/status.h"

#include "trace/builtin_parameters.h"
#include "trace/request_trace.h"

namespace kvstream::trace {

/// Sessions whose prompts grow, as in the paper's online workloads. A prompt is a head that all
/// sessions share, then the session's context, which begins with most of the one before it. `live`
/// sessions are open at a time; between two turns of one about as many requests of the others are
/// served, so live decides the reuse distance.
struct SessionWorkload {
  std::string_view kind;
  uint64_t requests = 0;
  uint64_t sessions = 0;
  double turns_spread = 0;  ///< Turns of a session are uniform within this share of their mean.
  uint64_t head_tokens = 0;
  uint64_t context_tokens_min = 0;  ///< Of a session's first context, uniform.
  uint64_t context_tokens_max = 0;
  uint64_t growth_tokens = 0;   ///< Mean per turn, uniform within half of it.
  uint64_t rewrite_tokens = 0;  ///< The end of a context that the next turn replaces.
  uint64_t prompt_tokens_max = kPromptTokensMax;
  uint64_t output_tokens = 0;  ///< Mean, uniform within half of it.
  uint64_t live = 0;
  double jitter = 0;      ///< Requests between two turns are uniform within this share of live.
  double rate_per_s = 0;  ///< Of all requests.
  double cv = 1;          ///< Of the times between arrivals, Gamma distributed.
  uint64_t seed = 1;
};

/// swebench, qwen-coder and chutes with the sizes of the paper's runs.
std::span<const SessionWorkload> SessionWorkloads();

/// Parameters: requests, sessions, live, rate (per second), cv, seed.
Result<RequestTrace> GenerateSessions(BuiltinParameters& parameters, SessionWorkload workload,
                                      const TraceOptions& options);

}  // namespace kvstream::trace
