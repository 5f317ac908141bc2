#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/prng.h"

namespace kvstream::base {

// Random numbers of given shapes, made from Prng alone, so that a seed gives the same numbers with
// every standard library. Pure; any thread with its own Prng.

/// `mean` >= 0.
double Exponential(Prng& prng, double mean);
/// Mean 0, standard deviation 1.
double Normal(Prng& prng);
/// Gamma with `shape` > 0; mean shape * scale.
double Gamma(Prng& prng, double shape, double scale);
/// Weibull with `shape` > 0.
double Weibull(Prng& prng, double shape, double scale);

/// The shape of the Weibull distribution whose standard deviation is `cv` times its mean; `cv` from
/// 0.05 to 50.
double WeibullShape(double cv);

/// Puts the items into random order, every order equally likely.
template <typename Item>
void Shuffle(Prng& prng, std::vector<Item>& items) {
  for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[prng.Below(i)]);
}

/// A lognormal distribution cut to [min, max].
class TruncatedLognormal {
 public:
  struct Shape {
    double mean = 0;   ///< After the cut; between min and max.
    double sigma = 0;  ///< Standard deviation of the logarithm before the cut; > 0.
    double min = 0;    ///< > 0.
    double max = 0;    ///< > min.
  };

  explicit TruncatedLognormal(const Shape& shape);

  /// The value that a share `p` of all values does not exceed; 0 < p < 1.
  double Quantile(double p) const;

 private:
  double MeanWith(double mu) const;

  Shape shape_;
  double mu_ = 0;
};

}  // namespace kvstream::base
