#include "cli/delivery_curve.h"

#include <algorithm>
#include <limits>

#include "base/assert.h"

namespace kvstream::cli {

void DeliveryCurve::Add(double seconds, uint64_t bytes) {
  KVS_ASSERT(seconds_.empty() ? seconds >= 0 : seconds >= seconds_.back());
  seconds_.push_back(seconds);
  totals_.push_back((totals_.empty() ? 0 : totals_.back()) + static_cast<double>(bytes));
}

double DeliveryCurve::BytesAt(double seconds) const {
  const auto next = std::lower_bound(seconds_.begin(), seconds_.end(), seconds);
  if (next == seconds_.end()) return totals_.empty() ? 0 : totals_.back();
  const auto index = static_cast<size_t>(next - seconds_.begin());
  const double before_s = index == 0 ? 0 : seconds_[index - 1];
  const double before = index == 0 ? 0 : totals_[index - 1];
  if (*next <= before_s) return totals_[index];
  return before + (totals_[index] - before) * (seconds - before_s) / (*next - before_s);
}

double DeliveryCurve::bytes_per_second() const {
  if (seconds_.empty() || !(seconds_.back() > 0)) return 0;
  return totals_.back() / seconds_.back();
}

double TimeToDeliver(std::span<const DeliveryCurve> curves, TierMask tiers, double bytes) {
  if (!(bytes > 0)) return 0;
  std::vector<double> times;
  for (size_t tier = 0; tier < curves.size(); ++tier) {
    if ((tiers >> tier & 1) == 0) continue;
    times.insert(times.end(), curves[tier].times().begin(), curves[tier].times().end());
  }
  std::sort(times.begin(), times.end());
  const auto delivered = [&](double seconds) {
    double sum = 0;
    for (size_t tier = 0; tier < curves.size(); ++tier) {
      if ((tiers >> tier & 1) != 0) sum += curves[tier].BytesAt(seconds);
    }
    return sum;
  };
  const auto reached = std::partition_point(
      times.begin(), times.end(), [&](double seconds) { return delivered(seconds) < bytes; });
  if (reached == times.end()) return std::numeric_limits<double>::infinity();
  const double from_s = reached == times.begin() ? 0 : *(reached - 1);
  const double from = delivered(from_s);
  const double to = delivered(*reached);
  return to > from ? from_s + (*reached - from_s) * (bytes - from) / (to - from) : *reached;
}

std::vector<uint64_t> BytesHeldOnlyInside(std::span<const uint64_t> bytes_by_holders) {
  std::vector<uint64_t> inside(bytes_by_holders.size(), 0);
  for (size_t set = 0; set < inside.size(); ++set) {
    for (size_t mask = 1; mask < inside.size(); ++mask) {
      if ((mask & ~set) == 0) inside[set] += bytes_by_holders[mask];
    }
  }
  return inside;
}

double BoundFromReaders(std::span<const DeliveryCurve> curves,
                        std::span<const uint64_t> bytes_by_holders) {
  KVS_ASSERT(bytes_by_holders.size() == size_t{1} << curves.size());
  const auto inside = BytesHeldOnlyInside(bytes_by_holders);
  double bound_s = 0;
  for (size_t set = 1; set < inside.size(); ++set) {
    bound_s = std::max(bound_s, TimeToDeliver(curves, static_cast<TierMask>(set),
                                              static_cast<double>(inside[set])));
  }
  return bound_s;
}

}  // namespace kvstream::cli
