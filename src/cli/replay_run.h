#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/chunk_writer.h"
#include "cli/host_cache.h"
#include "cli/line_file.h"
#include "cli/prefix_match.h"
#include "cli/progress.h"
#include "cli/replay.h"
#include "cli/session.h"
#include "cli/step_log.h"
#include "cli/step_metrics.h"
#include "cli/step_reader.h"

namespace kvstream::cli {

/// The identity under which a replay stores its chunks: another trace, cut, or chunk size shares
/// none.
Identity ReplayIdentity(const ReplayOptions& options);

/// Counts over the run that do not depend on the policy.
struct ReplayCounts {
  uint64_t steps = 0;
  uint64_t requests = 0;
  uint64_t cut_steps = 0;       ///< Ended early because of the read buffer.
  uint64_t host_chunks = 0;     ///< Per request, matched in host memory.
  uint64_t storage_chunks = 0;  ///< Per request, matched on storage.
  uint64_t missed_chunks = 0;   ///< Per request, not matched.
  uint64_t demand_bytes = 0;    ///< Σ D_i
  uint64_t new_bytes = 0;       ///< Σ W_i
  WriteCounts writes;
  std::chrono::nanoseconds forward{0};
};

/// The steps of a replay. The session's engine must have let go of all memory (Close) before this
/// is destroyed. Not thread-safe.
class ReplayRun {
 public:
  /// All arguments outlive the object; `log` may be null.
  ReplayRun(const ReplayOptions& options, const trace::RequestTrace& trace, Session& session,
            LineFile* log);

  /// Replays until the trace ends or SIGINT comes. kCorruption for a wrong byte.
  Status Run();

  /// Chunks of the trace that the engine can read now.
  uint64_t CountStored();

  const std::vector<ChunkKey>& keys() const { return keys_; }
  const ReplayCounts& counts() const { return counts_; }
  const std::vector<PolicyTotals>& policies() const { return policies_; }
  const std::vector<std::string>& tier_names() const { return tier_names_; }

 private:
  struct Step;

  Status RunStep(Step* step);
  StepDemand Match(size_t begin);
  std::unordered_map<uint64_t, bool> LookUp(size_t begin, size_t end);
  Status ReadAll(Step* step);
  Status ReadOnce(Step* step, PolicyTotals* totals, LeaseId lease);
  Status LogRead(const Step& step, const PolicyTotals& totals, const ReadSample& sample,
                 double bound_s);
  Status Compute(Step* step);
  void CountWaits(const Step& step);
  void ShowProgress(const Step& step);
  std::vector<ChunkKey> Keys(const std::vector<StepChunk>& chunks) const;

  const ReplayOptions& options_;
  const trace::RequestTrace& trace_;
  Session& session_;
  LineFile* log_;
  StepReader reader_;
  ChunkWriter writer_;
  HostCache host_;
  TierBandwidths bandwidths_;
  Progress progress_;
  std::vector<ChunkKey> keys_;  // by chunk id
  std::vector<std::string> tier_names_;
  std::vector<PolicyTotals> policies_;
  ReplayCounts counts_;
  TimePoint begin_;
  double last_write_s_ = 0;      // T_wr of the step before
  uint64_t last_new_bytes_ = 0;  // W_i of the step before
};

/// The summary of --json without policies and engine.
nlohmann::json CountsJson(const ReplayCounts& counts);

}  // namespace kvstream::cli
