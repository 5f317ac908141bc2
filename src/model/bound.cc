#include "model/bound.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/assert.h"

namespace kvstream::model {
namespace {

constexpr size_t kTiersMax = 8;
constexpr double kShareSumError = 1e-9;

double TimeFor(double bytes, double bandwidth) {
  if (bytes == 0) return 0;
  return bandwidth > 0 ? bytes / bandwidth : std::numeric_limits<double>::infinity();
}

double Sum(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

void CheckBandwidths(std::span<const double> bandwidths) {
  KVS_ASSERT(!bandwidths.empty());
  for (const double bandwidth : bandwidths) KVS_ASSERT(std::isfinite(bandwidth) && bandwidth >= 0);
}

void CheckShares(std::span<const double> shares, size_t tier_count) {
  KVS_ASSERT(shares.size() == tier_count);
  for (const double share : shares) KVS_ASSERT(share >= 0);
  KVS_ASSERT(std::abs(Sum(shares) - 1) <= kShareSumError);
}

}  // namespace

double AggregateBound(uint64_t bytes, std::span<const double> bandwidths, double link_bandwidth) {
  CheckBandwidths(bandwidths);
  KVS_ASSERT(link_bandwidth >= 0);
  return TimeFor(static_cast<double>(bytes), std::min(Sum(bandwidths), link_bandwidth));
}

double PartialCopyBound(std::span<const uint64_t> bytes_by_holders,
                        std::span<const double> bandwidths) {
  CheckBandwidths(bandwidths);
  KVS_ASSERT(bandwidths.size() <= kTiersMax);
  const size_t set_count = size_t{1} << bandwidths.size();
  KVS_ASSERT(bytes_by_holders.size() == set_count && bytes_by_holders[0] == 0);
  double bound = 0;
  for (size_t set = 1; set < set_count; ++set) {
    double bandwidth = 0;
    for (size_t tier = 0; tier < bandwidths.size(); ++tier) {
      if ((set >> tier & 1) != 0) bandwidth += bandwidths[tier];
    }
    double bytes = 0;
    for (size_t subset = set; subset != 0; subset = (subset - 1) & set) {
      bytes += static_cast<double>(bytes_by_holders[subset]);
    }
    bound = std::max(bound, TimeFor(bytes, bandwidth));
  }
  return bound;
}

double Phi(std::span<const double> bandwidths, size_t tier) {
  CheckBandwidths(bandwidths);
  KVS_ASSERT(tier < bandwidths.size());
  const double sum = Sum(bandwidths);
  KVS_ASSERT(sum > 0);
  return bandwidths[tier] / sum;
}

double StaticTime(uint64_t bytes, std::span<const double> shares,
                  std::span<const double> bandwidths) {
  CheckBandwidths(bandwidths);
  CheckShares(shares, bandwidths.size());
  double time = 0;
  for (size_t tier = 0; tier < shares.size(); ++tier) {
    time = std::max(time, TimeFor(shares[tier] * static_cast<double>(bytes), bandwidths[tier]));
  }
  return time;
}

double StaticPenalty(std::span<const double> shares, std::span<const double> bandwidths) {
  CheckShares(shares, bandwidths.size());
  double penalty = 1;
  for (size_t tier = 0; tier < shares.size(); ++tier) {
    penalty = std::max(penalty, TimeFor(shares[tier], Phi(bandwidths, tier)));
  }
  return penalty;
}

}  // namespace kvstream::model
