#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cli/policy_arg.h"
#include "cli/step_reader.h"

namespace kvstream::cli {

/// The bytes of a step by who holds them, as model::PartialCopyBound wants them.
class HolderBytes {
 public:
  explicit HolderBytes(size_t tiers) : by_mask_(size_t{1} << tiers) {}

  /// A chunk that no tier holds (staged only) is not the tiers' to read and is left out.
  void Add(TierMask holders, uint64_t bytes) {
    if (holders != 0) by_mask_[holders] += bytes;
  }
  std::span<const uint64_t> by_mask() const { return by_mask_; }
  uint64_t total() const;

 private:
  std::vector<uint64_t> by_mask_;
};

/// b_k(i): bytes over busy time of each tier in one read. A tier that did not read keeps the last
/// value it showed (under whatever policy); one that never read counts as 0.
class TierBandwidths {
 public:
  explicit TierBandwidths(size_t tiers) : last_(tiers, 0.0) {}

  /// Takes a read's values; returns how many tiers had none of their own.
  size_t Update(std::span<const TierSample> tiers);
  /// Bytes per second.
  std::span<const double> values() const { return last_; }

 private:
  std::vector<double> last_;
};

struct StepBound {
  double seconds = 0;  ///< 0 without bytes; infinite if no bandwidth is known where it is needed.
  size_t assumed = 0;  ///< Tiers whose bandwidth was taken from an earlier read, or unknown.
};

/// The time in which the tiers could have delivered the step at the bandwidths they showed.
StepBound BoundOfStep(const HolderBytes& demand, const ReadSample& sample,
                      TierBandwidths* bandwidths);

/// What a policy did over the run. Plain sums; Add is the only way in.
struct PolicyTotals {
  PolicyTotals(PolicyArg arg, size_t tier_count) : policy(std::move(arg)), tiers(tier_count) {}

  void Add(const ReadSample& sample, const StepBound& bound);
  /// The same read against a bound that was measured by others, in the same minute.
  void AddCeiling(const ReadSample& sample, double bound_seconds);

  /// Sum of retrieval times over sum of bounds, minus 1; 0 without a bound.
  double gap() const;
  double bytes_per_second() const;
  double cpu_ms_per_gib() const;

  PolicyArg policy;
  uint64_t steps = 0;
  uint64_t delivered_bytes = 0;
  uint64_t staged_bytes = 0;
  uint64_t twice_bytes = 0;
  uint64_t missed_chunks = 0;
  std::chrono::nanoseconds retrieval{0};
  std::chrono::nanoseconds cpu{0};
  double bounded_retrieval_s = 0;  ///< Of the steps that have a bound.
  double bound_s = 0;
  uint64_t assumed_steps = 0;     ///< Steps whose bound used a bandwidth of an earlier read.
  std::vector<double> step_gaps;  ///< Of the steps that have a bound.
  double ceiling_bound_s = 0;
  std::vector<double> ceiling_gaps;
  std::vector<TierSample> tiers;
  std::vector<double> waits_s;  ///< Replay: one per request.
  double clock_s = 0;           ///< Replay: when this policy's last step ended.
};

}  // namespace kvstream::cli
