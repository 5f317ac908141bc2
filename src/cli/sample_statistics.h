#pragma once

#include <cstdint>
#include <span>

namespace kvstream::cli {

/// Statistics over small samples. All return 0 for an empty sample; none changes its input.

double Mean(std::span<const double> values);

/// Nearest rank: the smallest value that at least `fraction` (0 to 1) of the sample does not
/// exceed.
double Quantile(std::span<const double> values, double fraction);

/// Middle value; the mean of the two middle ones for an even count.
double Median(std::span<const double> values);

struct Interval {
  double low = 0;
  double high = 0;
};

/// 25 % and 75 % quantiles.
Interval Quartiles(std::span<const double> values);

/// 95 % percentile bootstrap interval of the median, from `rounds` resamples seeded by `seed`.
Interval BootstrapMedian(std::span<const double> values, uint64_t seed, int rounds = 2000);

}  // namespace kvstream::cli
