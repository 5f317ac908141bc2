#include "cli/sample_statistics.h"

#include <vector>

#include <gtest/gtest.h>

namespace kvstream::cli {
namespace {

TEST(SampleStatisticsTest, AnEmptySampleGivesZeros) {
  EXPECT_EQ(Mean({}), 0);
  EXPECT_EQ(Median({}), 0);
  EXPECT_EQ(Quantile({}, 0.99), 0);
  EXPECT_EQ(BootstrapMedian({}, 1).high, 0);
}

TEST(SampleStatisticsTest, QuantilesAreNearestRanks) {
  const std::vector<double> values = {5, 1, 4, 2, 3, 6, 7, 8, 10, 9};
  EXPECT_EQ(Quantile(values, 0), 1);
  EXPECT_EQ(Quantile(values, 0.5), 5);
  EXPECT_EQ(Quantile(values, 0.51), 6);
  EXPECT_EQ(Quantile(values, 0.99), 10);
  EXPECT_EQ(Quantile(values, 1), 10);
  EXPECT_EQ(Quartiles(values).low, 3);
  EXPECT_EQ(Quartiles(values).high, 8);
}

TEST(SampleStatisticsTest, TheMedianOfAnEvenCountIsBetweenTheMiddleTwo) {
  EXPECT_EQ(Median(std::vector<double>{4, 1, 3, 2}), 2.5);
  EXPECT_EQ(Median(std::vector<double>{9, 1, 3}), 3);
  EXPECT_EQ(Mean(std::vector<double>{4, 1, 3, 2}), 2.5);
}

TEST(SampleStatisticsTest, TheBootstrapIntervalHoldsTheMedianAndRepeatsWithItsSeed) {
  std::vector<double> values;
  for (int i = 0; i < 31; ++i) values.push_back(i);
  const Interval interval = BootstrapMedian(values, 7);
  EXPECT_LT(interval.low, 15);
  EXPECT_GT(interval.high, 15);
  EXPECT_GE(interval.low, 5);
  EXPECT_LE(interval.high, 25);
  EXPECT_EQ(interval.low, BootstrapMedian(values, 7).low);
  const Interval constant = BootstrapMedian(std::vector<double>{2, 2, 2}, 7);
  EXPECT_EQ(constant.low, 2);
  EXPECT_EQ(constant.high, 2);
}

}  // namespace
}  // namespace kvstream::cli
