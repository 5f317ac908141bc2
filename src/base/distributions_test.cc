#include "base/distributions.h"

#include <cmath>
#include <functional>

#include <gtest/gtest.h>

namespace kvstream::base {
namespace {

struct Moments {
  double mean = 0;
  double cv = 0;
};

Moments MomentsOf(const std::function<double(Prng&)>& draw) {
  constexpr int kDraws = 200'000;
  Prng prng(11);
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = draw(prng);
    sum += value;
    squares += value * value;
  }
  const double mean = sum / kDraws;
  return {mean, std::sqrt(squares / kDraws - mean * mean) / mean};
}

TEST(DistributionsTest, ExponentialHasItsMean) {
  const Moments moments = MomentsOf([](Prng& prng) { return Exponential(prng, 3); });
  EXPECT_NEAR(moments.mean, 3, 0.03);
  EXPECT_NEAR(moments.cv, 1, 0.01);
}

TEST(DistributionsTest, NormalIsStandard) {
  const Moments moments = MomentsOf([](Prng& prng) { return 10 + Normal(prng); });
  EXPECT_NEAR(moments.mean, 10, 0.01);
  EXPECT_NEAR(moments.cv, 0.1, 0.001);
}

TEST(DistributionsTest, GammaHasMeanAndVariationOfItsShape) {
  for (const double shape : {0.1, 0.5, 1.0, 4.0, 50.0}) {
    const Moments moments = MomentsOf([&](Prng& prng) { return Gamma(prng, shape, 2 / shape); });
    EXPECT_NEAR(moments.mean, 2, 0.04) << shape;
    EXPECT_NEAR(moments.cv, 1 / std::sqrt(shape), 0.02 / std::sqrt(shape)) << shape;
  }
}

TEST(DistributionsTest, WeibullHasTheVariationItsShapeWasChosenFor) {
  for (const double cv : {0.2, 1.0, 2.0, 4.0}) {
    const double shape = WeibullShape(cv);
    const double scale = 2 / std::tgamma(1 + 1 / shape);
    const Moments moments = MomentsOf([&](Prng& prng) { return Weibull(prng, shape, scale); });
    EXPECT_NEAR(moments.mean, 2, 0.06) << cv;
    EXPECT_NEAR(moments.cv, cv, 0.1 * cv) << cv;  // heavy tails converge slowly
  }
  EXPECT_NEAR(WeibullShape(1), 1, 1e-6) << "the exponential distribution";
}

TEST(DistributionsTest, TruncatedLognormalKeepsItsMeanAndItsEnds) {
  const TruncatedLognormal lengths({.mean = 20'400, .sigma = 0.6, .min = 2000, .max = 32'000});
  constexpr int kSteps = 10'000;
  double sum = 0;
  double before = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double value = lengths.Quantile((i + 0.5) / kSteps);
    EXPECT_GE(value, before);
    sum += value;
    before = value;
  }
  EXPECT_NEAR(sum / kSteps, 20'400, 20);
  EXPECT_NEAR(lengths.Quantile(1e-9), 2000, 1);
  EXPECT_NEAR(lengths.Quantile(1 - 1e-9), 32'000, 1);
}

TEST(DistributionsTest, WithoutACutThatMattersItIsLognormal) {
  const TruncatedLognormal lengths({.mean = 100, .sigma = 0.5, .min = 1e-3, .max = 1e9});
  EXPECT_NEAR(lengths.Quantile(0.5), 100 / std::exp(0.125), 1e-6);
}

}  // namespace
}  // namespace kvstream::base
