#include "model/step.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "model/bound.h"

namespace kvstream::model {
namespace {

using Doubles = std::vector<double>;

TEST(StepTest, TimeIsTheSumOfItsThreeTerms) {
  const StepTerms terms{.retrieval_s = 0.5, .forward_s = 0.25, .write_s = 0.25};
  EXPECT_DOUBLE_EQ(StepTime(terms), 1.0);
  EXPECT_DOUBLE_EQ(RetrievalShare(terms), 0.5);
  EXPECT_EQ(RetrievalShare({}), 0);
}

// The slowest tier decides: 2.8e9 / 0.7e9 = 4 s of writing behind 5 s of forward pass.
TEST(StepTest, WritesStayHiddenWhileTheSlowestTierKeepsUp) {
  EXPECT_DOUBLE_EQ(WriteLoad(2'800'000'000, Doubles{1.275e9, 0.7e9}, 5), 0.8);
  EXPECT_DOUBLE_EQ(WriteLoad(2'800'000'000, Doubles{0.7e9, 1.275e9}, 2), 2.0);
  EXPECT_EQ(WriteLoad(0, Doubles{0.0}, 0), 0);
  EXPECT_TRUE(std::isinf(WriteLoad(1, Doubles{1.0, 0.0}, 1)));
  EXPECT_TRUE(std::isinf(WriteLoad(1, Doubles{1.0}, 0)));
}

// Table 2 of the paper, Testbed-1: 13.7 and 6.2 GB/s; retrieval takes 13.7 / 19.9 of its time.
TEST(StepTest, ASecondTierSavesItsShareOfTheBandwidth) {
  const Doubles bandwidths{13.7e9, 6.2e9};
  EXPECT_DOUBLE_EQ(RetrievalSaving(bandwidths, 0), 6.2 / 19.9);
  const uint64_t bytes = 1'000'000'000;
  const double alone = AggregateBound(bytes, Doubles{13.7e9});
  const double together = AggregateBound(bytes, bandwidths);
  EXPECT_DOUBLE_EQ(RetrievalSaving(bandwidths, 0), 1 - together / alone);
  EXPECT_NEAR(StepSaving(0.61, RetrievalSaving(bandwidths, 0)), 0.19005, 1e-5);
  EXPECT_EQ(RetrievalSaving(Doubles{5}, 0), 0) << "no other tier";
  EXPECT_DOUBLE_EQ(RetrievalSaving(Doubles{6, 2}, 0, 7), 1 - 6.0 / 7) << "a link between both";
  EXPECT_EQ(RetrievalSaving(Doubles{6, 2}, 0, 5), 0) << "a link slower than either";
}

// Sec 6.1: 0.5 to 0.6 at low load, 1 at medium, 2.2 to 4.7 at high load; 2.9 req/s is capacity.
TEST(StepTest, WaitingGrowsWithTheLoad) {
  EXPECT_NEAR(WaitingFactor(1.0 / 2.9), 0.53, 0.005);
  EXPECT_NEAR(WaitingFactor(1.5 / 2.9), 1.07, 0.005);
  EXPECT_NEAR(WaitingFactor(2.4 / 2.9), 4.8, 0.005);
  EXPECT_NEAR(WaitingFactor(0.32 / 0.46), 2.29, 0.005);
  EXPECT_EQ(WaitingFactor(0), 0);
  EXPECT_TRUE(std::isinf(WaitingFactor(1)));
  EXPECT_TRUE(std::isinf(WaitingFactor(2)));
}

using StepDeathTest = testing::Test;

TEST(StepDeathTest, ArgumentsOutsideTheModelAbort) {
  EXPECT_DEATH(StepTime({.retrieval_s = -1}), "retrieval_s");
  EXPECT_DEATH(RetrievalShare({.retrieval_s = std::numeric_limits<double>::infinity()}), "time");
  EXPECT_DEATH(WriteLoad(1, Doubles{}, 1), "write_bandwidths");
  EXPECT_DEATH(WriteLoad(1, Doubles{-1}, 1), "slowest");
  EXPECT_DEATH(StepSaving(1.5, 0.5), "IsShare");
  EXPECT_DEATH(WaitingFactor(-0.1), "load");
}

}  // namespace
}  // namespace kvstream::model
