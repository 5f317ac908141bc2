#include "base/distributions.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/assert.h"

namespace kvstream::base {
namespace {

/// Where the rising `function` passes `target` between `low` and `high`.
template <typename Function>
double Bisect(double low, double high, double target, Function&& function) {
  for (int step = 0; step < 100; ++step) {
    const double middle = (low + high) / 2;
    (function(middle) < target ? low : high) = middle;
  }
  return (low + high) / 2;
}

double NormalCdf(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

}  // namespace

double Exponential(Prng& prng, double mean) { return -std::log1p(-prng.Uniform()) * mean; }

double Normal(Prng& prng) {
  // Box and Muller 1958; the second value is left unused, so that there is no state.
  const double radius = std::sqrt(Exponential(prng, 2));
  return radius * std::cos(2 * std::numbers::pi * prng.Uniform());
}

double Gamma(Prng& prng, double shape, double scale) {
  KVS_ASSERT(shape > 0);
  if (shape < 1) {
    const double u = 1 - prng.Uniform();
    return Gamma(prng, shape + 1, scale) * std::pow(u, 1 / shape);
  }
  // Marsaglia and Tsang 2000.
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = Normal(prng);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log1p(-prng.Uniform()) < x * x / 2 + d - d * v + d * std::log(v)) {
      return d * v * scale;
    }
  }
}

double Weibull(Prng& prng, double shape, double scale) {
  KVS_ASSERT(shape > 0);
  return scale * std::pow(Exponential(prng, 1), 1 / shape);
}

double WeibullShape(double cv) {
  KVS_ASSERT(cv >= 0.05 && cv <= 50);
  const auto square_over_mean_square = [](double inverse_shape) {
    const double mean = std::tgamma(1 + inverse_shape);
    return std::tgamma(1 + 2 * inverse_shape) / (mean * mean);
  };
  return 1 / Bisect(0.001, 20, 1 + cv * cv, square_over_mean_square);
}

TruncatedLognormal::TruncatedLognormal(const Shape& shape) : shape_(shape) {
  KVS_ASSERT(shape.min > 0 && shape.sigma > 0);
  KVS_ASSERT(shape.min < shape.mean && shape.mean < shape.max);
  // Far outside, the distribution is a point at one of the ends and no number of it is exact.
  const double reach = 5 * shape.sigma;
  mu_ = Bisect(std::log(shape.min) - reach, std::log(shape.max) + reach, shape.mean,
               [this](double mu) { return MeanWith(mu); });
}

double TruncatedLognormal::MeanWith(double mu) const {
  const double sigma = shape_.sigma;
  const double low = (std::log(shape_.min) - mu) / sigma;
  const double high = (std::log(shape_.max) - mu) / sigma;
  const double share = NormalCdf(high) - NormalCdf(low);
  return std::exp(mu + sigma * sigma / 2) * (NormalCdf(high - sigma) - NormalCdf(low - sigma)) /
         share;
}

double TruncatedLognormal::Quantile(double p) const {
  KVS_ASSERT(p > 0 && p < 1);
  const double low = (std::log(shape_.min) - mu_) / shape_.sigma;
  const double high = (std::log(shape_.max) - mu_) / shape_.sigma;
  const double target = NormalCdf(low) + p * (NormalCdf(high) - NormalCdf(low));
  const double z = Bisect(low, high, target, NormalCdf);
  return std::clamp(std::exp(mu_ + shape_.sigma * z), shape_.min, shape_.max);
}

}  // namespace kvstream::base
