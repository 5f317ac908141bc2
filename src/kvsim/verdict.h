#pragma once

#include <optional>
#include <span>
#include <string>

#include "kvsim/policy_run.h"

namespace kvstream::kvsim {

/// Whether further tiers pay: a run with several tiers against one with only one of them.
struct Verdict {
  std::string alone;     ///< Label of the run with one tier.
  std::string together;  ///< Label of the run with several.
  /// "mean TTFT"; "throughput" where all requests are there from the start, or `saturated`.
  std::string metric;
  bool saturated = false;       ///< The run with one tier cannot keep up with the arrivals.
  double gain = 0;              ///< What is gained of it, as a fraction: 0.3 is 30 % less TTFT.
  double retrieval_saving = 0;  ///< Of the retrieval time, as a fraction.
  double write_wait_share = 0;  ///< T_wr's part of the prefill steps, together.
  std::string answer;           ///< "yes", "a little" (1 to 5 %), "no" (within 1 %), "it loses".
  std::string text;             ///< Whole sentences.
};

/// Compares the first run with several tiers with the first batched run of one tier (else the first
/// serial one). Nothing if either is missing. `online`: requests arrive over time.
std::optional<Verdict> Judge(std::span<const PolicyRun> runs, bool online);

/// One sentence on where a run's time goes.
std::string DescribeTime(const PolicyRun& run);

}  // namespace kvstream::kvsim
