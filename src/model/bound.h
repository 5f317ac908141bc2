#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace kvstream::model {

// The performance model in closed form: Eq. 3 to 6 of the paper (arXiv:2610.31827), for n tiers.
//
// Bandwidths are bytes per second, one per tier, finite and not negative; times are seconds; shares
// are fractions of a step's demand, one per tier, that add up to 1. A time is infinite where bytes
// must come from tiers without bandwidth, and 0 without bytes. Arguments outside that abort. Pure;
// any thread.

/// Eq. 3: no schedule reads `bytes` faster than bytes / min(sum of bandwidths, link).
double AggregateBound(uint64_t bytes, std::span<const double> bandwidths,
                      double link_bandwidth = std::numeric_limits<double>::infinity());

/// Eq. 3 where not every tier holds every chunk: the largest, over all sets S of tiers, of the
/// bytes that only tiers of S hold, over the bandwidth of S. `bytes_by_holders[mask]` are the bytes
/// held by exactly the tiers of `mask`; it has 2^n elements for n bandwidths (at most 8), and its
/// element 0 (held by none) must be 0.
double PartialCopyBound(std::span<const uint64_t> bytes_by_holders,
                        std::span<const double> bandwidths);

/// Eq. 4: the share of the aggregate bandwidth that `tier` has. Some bandwidth must be above 0.
double Phi(std::span<const double> bandwidths, size_t tier);

/// Eq. 5: the time of a static placement, where tier k serves shares[k] of the bytes.
double StaticTime(uint64_t bytes, std::span<const double> shares,
                  std::span<const double> bandwidths);

/// Eq. 6: StaticTime over AggregateBound, at least 1: the largest shares[k] / Phi(k).
double StaticPenalty(std::span<const double> shares, std::span<const double> bandwidths);

}  // namespace kvstream::model
