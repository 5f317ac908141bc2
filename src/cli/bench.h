#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/policy_arg.h"
#include "cli/tier_config.h"

namespace kvstream::cli {

enum class BenchMode : uint8_t {
  kStep,    ///< One step of N chunks again and again, under each policy.
  kSingle,  ///< One tier against fio, in pairs.
  kPut,     ///< Latency of a put into a free stage and into a full one.
  kFlood,   ///< The step with and without a flood of writes, in pairs.
};

/// What the step's time is compared with, besides the engine's own busy times.
enum class Ceiling : uint8_t {
  kNone,
  kRaw,   ///< Raw readers on all tiers at once, before every step.
  kFio,   ///< fio on each tier alone, once, best of several shapes.
  kLoop,  ///< One raw reader on each tier alone, once.
};

/// Copies to take away before measuring.
struct Eviction {
  double share = 0;
  uint32_t tier = 0;
};

struct BenchOptions {
  EngineArgs engine;
  std::vector<PolicyArg> policies;
  BenchMode mode = BenchMode::kStep;
  Ceiling ceiling = Ceiling::kRaw;
  uint32_t chunks = 256;
  uint64_t chunk_bytes = 0;
  uint32_t steps = 10;
  uint32_t warmup = 1;
  std::chrono::nanoseconds idle{0};   ///< Before every timed run.
  std::chrono::nanoseconds align{0};  ///< Timed runs start at multiples of this on the wall clock.
  std::optional<Eviction> evict;
  uint64_t seed = 1;
  uint64_t put_bytes = 0;
  bool keep = false;
  std::string json_path;  ///< Empty: none; "-": stdout, and the tables go to stderr.
};

/// Reads "20%:1" or "0.2:pfs". kInvalidArgument.
Result<Eviction> ParseEviction(std::string_view text, const std::vector<TierArg>& tiers);

/// Blocks. Returns the process's exit code; every failure has been printed.
int RunBench(const BenchOptions& options);

}  // namespace kvstream::cli
