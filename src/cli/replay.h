#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/forward_model.h"
#include "cli/policy_arg.h"
#include "cli/step_former.h"
#include "cli/tier_config.h"
#include "trace/request_trace.h"

namespace kvstream::cli {

/// When a request counts as arrived, for the waits.
enum class Arrivals : uint8_t {
  kAtStep,    ///< When its step begins: the wait is retrieval and forward time.
  kRecorded,  ///< At the trace's time: waiting for earlier steps counts as well.
};

struct ReplayOptions {
  EngineArgs engine;
  std::vector<PolicyArg> policies;
  std::string trace_source;
  trace::TraceOptions trace;
  uint64_t chunk_bytes = 0;
  BatchLimits batch;
  uint64_t host_cache_bytes = 0;
  uint64_t read_buffer_bytes = 0;
  ForwardModel forward;
  double time_scale = 1;  ///< Of the forward pass as it is slept.
  Arrivals arrivals = Arrivals::kAtStep;
  double arrival_scale = 1;
  std::string step_log_path;  ///< Empty: none.
  std::string json_path;      ///< Empty: none; "-": stdout, and the tables go to stderr.
  bool keep = false;          ///< Leave the chunks on the tiers.
  bool reopen = false;        ///< Close, open again, and look the trace's chunks up.
};

/// Replays a trace step by step against the tiers and prints what each policy did. Blocks. Returns
/// the process's exit code; every failure has been printed.
int RunReplay(const ReplayOptions& options);

}  // namespace kvstream::cli
