#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kvstream/options.h"
#include "kvstream/status.h"

namespace kvstream::sim {

struct LoggedTier {
  uint64_t read_bytes = 0;
  double read_busy_s = 0;
  uint64_t written_bytes = 0;
  double write_busy_s = 0;
};

struct LoggedChunk {
  uint32_t id = 0;  ///< Dense: numbered as they appear in the log.
  uint32_t position = 0;
  uint64_t bytes = 0;
  TierMask holders = 0;
  bool staged = false;
};

/// One line of a step log (docs/step_log.md).
struct LoggedStep {
  uint64_t step = 0;
  uint32_t policy = 0;  ///< Index in StepLog::policies.
  uint64_t requests = 0;
  uint64_t demand_bytes = 0;
  uint64_t new_bytes = 0;
  double retrieval_s = 0;
  double forward_s = 0;
  std::vector<LoggedTier> tiers;    ///< As StepLog::tier_names.
  std::vector<LoggedChunk> chunks;  ///< Of the demand, in pool order; none if the log has no list.
};

struct StepLog {
  std::vector<std::string> tier_names;
  std::vector<std::string> policies;  ///< In order of appearance.
  std::vector<LoggedStep> steps;
  uint32_t chunk_count = 0;  ///< Distinct ids.
};

/// Reads a step log, plain or gzip. Untrusted input: kInvalidArgument with file and line for what
/// is no such log, lists tiers other than its first line, names a chunk twice in a step, or whose
/// chunks do not add up to the demand; kNotFound, kIo. Unknown fields are ignored. Blocks.
Result<StepLog> LoadStepLog(const std::string& path);
/// The same for contents in memory. Pure.
Result<StepLog> ParseStepLog(std::string_view name, std::string contents);

}  // namespace kvstream::sim
