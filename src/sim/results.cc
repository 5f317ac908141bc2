#include "sim/results.h"

#include <algorithm>
#include <cmath>

namespace kvstream::sim {
namespace {

// Nearest rank; `sorted` is not empty.
double Percentile(const std::vector<double>& sorted, double percent) {
  const double rank = std::ceil(percent / 100 * static_cast<double>(sorted.size()));
  const size_t index = rank < 1 ? 0 : static_cast<size_t>(rank) - 1;
  return sorted[std::min(index, sorted.size() - 1)];
}

}  // namespace

TokenCounts& TokenCounts::operator+=(const TokenCounts& other) {
  gpu += other.gpu;
  host += other.host;
  storage += other.storage;
  missed += other.missed;
  return *this;
}

Distribution Describe(std::vector<double> values) {
  Distribution described;
  if (values.empty()) return described;
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += value;
  described.count = values.size();
  described.mean = sum / count;
  double squares = 0;
  for (const double value : values) squares += std::pow(value - described.mean, 2);
  described.sd = std::sqrt(squares / count);
  described.p10 = Percentile(values, 10);
  described.p50 = Percentile(values, 50);
  described.p90 = Percentile(values, 90);
  described.p99 = Percentile(values, 99);
  described.max = values.back();
  return described;
}

}  // namespace kvstream::sim
