#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/prefix_match.h"
#include "cli/step_reader.h"

namespace kvstream::cli {

/// One read of one step, as the step log has it (docs/step_log.md). Bytes, seconds.
struct StepRecord {
  uint64_t step = 0;
  double t_s = 0;  ///< Since the start of the run.
  std::string_view policy;
  uint64_t demand_bytes = 0;  ///< D_i
  double bound_s = 0;
  double forward_s = 0;       ///< T_fwd
  double write_s = 0;         ///< T_wr: what the step before waited for its writes.
  uint64_t new_bytes = 0;     ///< W_i: bytes the step before handed over.
  uint64_t staged_bytes = 0;  ///< Now.
  uint64_t requests = 0;
  uint64_t chunk_bytes = 0;
  const ReadSample* sample = nullptr;
  std::span<const StepChunk> chunks;      ///< Of D_i, in pool order.
  std::span<const LookupResult> holders;  ///< Of each chunk.
};

/// One JSON object a line. The chunk list makes a log replayable under other policies.
std::string StepRecordLine(const StepRecord& record, std::span<const std::string> tier_names);

}  // namespace kvstream::cli
