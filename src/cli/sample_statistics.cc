#include "cli/sample_statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/assert.h"
#include "base/prng.h"

namespace kvstream::cli {
namespace {

std::vector<double> Sorted(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

}  // namespace

double Mean(std::span<const double> values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double Quantile(std::span<const double> values, double fraction) {
  KVS_ASSERT(fraction >= 0 && fraction <= 1);
  if (values.empty()) return 0;
  const auto sorted = Sorted(values);
  const double rank = std::ceil(fraction * static_cast<double>(sorted.size()));
  return sorted[rank < 1 ? 0 : static_cast<size_t>(rank) - 1];
}

double Median(std::span<const double> values) {
  if (values.empty()) return 0;
  const auto sorted = Sorted(values);
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

Interval Quartiles(std::span<const double> values) {
  return {Quantile(values, 0.25), Quantile(values, 0.75)};
}

Interval BootstrapMedian(std::span<const double> values, uint64_t seed, int rounds) {
  KVS_ASSERT(rounds > 0);
  if (values.empty()) return {};
  base::Prng prng(seed);
  std::vector<double> medians;
  std::vector<double> resample(values.size());
  for (int round = 0; round < rounds; ++round) {
    for (double& value : resample) value = values[prng.Below(values.size())];
    medians.push_back(Median(resample));
  }
  return {Quantile(medians, 0.025), Quantile(medians, 0.975)};
}

}  // namespace kvstream::cli
