#include "base/histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace kvstream::base {
namespace {

TEST(HistogramTest, IsAllZerosWithoutValues) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.min(), 0u);
  EXPECT_EQ(histogram.max(), 0u);
  EXPECT_EQ(histogram.mean(), 0);
  EXPECT_EQ(histogram.Percentile(50), 0u);
}

TEST(HistogramTest, IsExactBelowTwoOctaves) {
  Histogram histogram;
  for (uint64_t value = 1; value <= 100; ++value) histogram.Add(value);
  EXPECT_EQ(histogram.Percentile(0), 1u);
  EXPECT_EQ(histogram.Percentile(1), 1u);
  EXPECT_EQ(histogram.Percentile(50), 50u);
  EXPECT_EQ(histogram.Percentile(99), 99u);
  EXPECT_EQ(histogram.Percentile(100), 100u);
  EXPECT_DOUBLE_EQ(histogram.mean(), 50.5);
}

TEST(HistogramTest, TakesEveryPowerOfTwoAndItsNeighbours) {
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t power = uint64_t{1} << bit;
    for (const uint64_t value : {power - 1, power, power + 1}) {
      Histogram histogram;
      histogram.Add(value);
      histogram.Add(std::numeric_limits<uint64_t>::max());
      const uint64_t found = histogram.Percentile(50);
      EXPECT_GE(found, value);
      EXPECT_LE(found - value, value / 64) << value;
      EXPECT_EQ(histogram.min(), value);
      EXPECT_EQ(histogram.max(), std::numeric_limits<uint64_t>::max());
    }
  }
}

TEST(HistogramTest, PercentilesAreWithinOneSixtyFourthOfTheSortedValues) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Prng prng(seed);
    Histogram histogram;
    std::vector<uint64_t> values;
    for (int i = 0; i < 2000; ++i) {
      values.push_back(prng.Next() >> prng.Below(64));
      histogram.Add(values.back());
    }
    std::sort(values.begin(), values.end());
    for (const double percent : {0.0, 1.0, 25.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
      const auto rank = static_cast<size_t>(std::ceil(percent / 100 * 2000));
      const uint64_t exact = values[rank == 0 ? 0 : rank - 1];
      const uint64_t found = histogram.Percentile(percent);
      EXPECT_GE(found, exact) << percent;
      EXPECT_LE(found - exact, exact / 64) << percent;
    }
  }
}

TEST(HistogramTest, MergingEqualsAddingToOne) {
  constexpr uint64_t kSeed = 7;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  Prng prng(kSeed);
  Histogram one;
  Histogram two;
  Histogram both;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t value = prng.Below(1'000'000'000);
    (i % 3 == 0 ? one : two).Add(value);
    both.Add(value);
  }
  one.Merge(two);
  EXPECT_EQ(one.count(), both.count());
  EXPECT_EQ(one.min(), both.min());
  EXPECT_EQ(one.max(), both.max());
  EXPECT_NEAR(one.mean(), both.mean(), 1e-6 * both.mean());
  for (int percent = 0; percent <= 100; ++percent) {
    EXPECT_EQ(one.Percentile(percent), both.Percentile(percent));
  }
}

TEST(HistogramTest, CopiesAreIndependent) {
  Histogram original;
  original.Add(10, 3);
  Histogram copy = original;
  copy.Add(20);
  EXPECT_EQ(original.count(), 3u);
  EXPECT_EQ(copy.count(), 4u);
  original = copy;
  EXPECT_EQ(original.max(), 20u);
}

TEST(HistogramTest, IgnoresACountOfZero) {
  Histogram histogram;
  histogram.Add(5, 0);
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.max(), 0u);
}

}  // namespace
}  // namespace kvstream::base
