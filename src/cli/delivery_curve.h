#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kvstream/options.h"

namespace kvstream::cli {

/// How many bytes one reader had delivered by when: straight lines between completions, from (0,
/// 0). The lines take the place of the bytes that were under way, so that two readers that never
/// stop can be added up at any time without an error of a queue's length. A plain value.
class DeliveryCurve {
 public:
  /// A completion of `bytes`; seconds from the start, not decreasing.
  void Add(double seconds, uint64_t bytes);

  /// Bytes delivered by then; after the last completion, its total.
  double BytesAt(double seconds) const;
  std::span<const double> times() const { return seconds_; }
  uint64_t total_bytes() const {
    return static_cast<uint64_t>(totals_.empty() ? 0 : totals_.back());
  }
  /// Total over the time of the last completion; 0 without one.
  double bytes_per_second() const;

 private:
  std::vector<double> seconds_;
  std::vector<double> totals_;
};

/// When the curves of the tiers of `tiers` add up to `bytes`; infinite if they never do.
double TimeToDeliver(std::span<const DeliveryCurve> curves, TierMask tiers, double bytes);

/// For every set of tiers (index = mask) the bytes that only its tiers hold: sums of
/// `bytes_by_holders`, which is as model::PartialCopyBound wants it.
std::vector<uint64_t> BytesHeldOnlyInside(std::span<const uint64_t> bytes_by_holders);

/// The bound of a step (model::PartialCopyBound) from readers that ran flat out for its whole time,
/// however their bandwidths changed meanwhile: the largest, over all sets of tiers, of the time in
/// which the set's readers delivered what only it holds.
double BoundFromReaders(std::span<const DeliveryCurve> curves,
                        std::span<const uint64_t> bytes_by_holders);

}  // namespace kvstream::cli
