#include "model/bound.h"

#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace kvstream::model {
namespace {

using Doubles = std::vector<double>;

constexpr uint64_t kGb = 1'000'000'000;

TEST(BoundTest, AggregateBoundAddsBandwidths) {
  EXPECT_DOUBLE_EQ(AggregateBound(2 * kGb, Doubles{2.9e9, 0.9e9}), 2 / 3.8);
  EXPECT_DOUBLE_EQ(AggregateBound(6 * kGb, Doubles{1e9, 2e9, 3e9}), 1.0);
  EXPECT_DOUBLE_EQ(AggregateBound(6 * kGb, Doubles{3e9}), 2.0);
}

TEST(BoundTest, AggregateBoundIsLimitedByTheLink) {
  EXPECT_DOUBLE_EQ(AggregateBound(6 * kGb, Doubles{4e9, 4e9}, 6e9), 1.0);
  EXPECT_DOUBLE_EQ(AggregateBound(8 * kGb, Doubles{4e9, 4e9}, 60e9), 1.0);
}

TEST(BoundTest, NoBytesTakeNoTimeAndNoBandwidthTakesForEver) {
  EXPECT_EQ(AggregateBound(0, Doubles{0.0}), 0);
  EXPECT_TRUE(std::isinf(AggregateBound(1, Doubles{0.0, 0.0})));
  EXPECT_TRUE(std::isinf(StaticTime(1, Doubles{0.5, 0.5}, Doubles{1.0, 0.0})));
  EXPECT_EQ(StaticTime(10, Doubles{1.0, 0.0}, Doubles{10.0, 0.0}), 1);
  EXPECT_TRUE(std::isinf(StaticPenalty(Doubles{0.5, 0.5}, Doubles{1.0, 0.0})));
}

// The worked examples of Sec 5.2 for a 75:25 split.
TEST(BoundTest, StaticPenaltyGivesThePapersExamples) {
  const Doubles shares{0.75, 0.25};
  EXPECT_DOUBLE_EQ(StaticPenalty(shares, Doubles{3, 1}), 1.0);
  EXPECT_DOUBLE_EQ(StaticPenalty(shares, Doubles{2, 1}), 1.125);
  EXPECT_DOUBLE_EQ(StaticPenalty(shares, Doubles{3, 0.5}), 1.75);
  // Slower than tier 0 alone: D/2 against D/3.
  EXPECT_DOUBLE_EQ(StaticTime(6, shares, Doubles{3, 0.5}), 3.0);
  EXPECT_DOUBLE_EQ(AggregateBound(6, Doubles{3}), 2.0);
}

TEST(BoundTest, StaticPenaltyIsTheRatioOfTimeAndBound) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    base::Prng prng(seed);
    const size_t tiers = 1 + static_cast<size_t>(prng.Below(5));
    Doubles shares;
    Doubles bandwidths;
    double sum = 0;
    for (size_t tier = 0; tier < tiers; ++tier) {
      shares.push_back(prng.Uniform() + 0.01);
      bandwidths.push_back(1e6 + 1e9 * prng.Uniform());
      sum += shares.back();
    }
    for (double& share : shares) share /= sum;
    const double ratio = StaticTime(kGb, shares, bandwidths) / AggregateBound(kGb, bandwidths);
    EXPECT_NEAR(StaticPenalty(shares, bandwidths), ratio, 1e-9 * ratio) << "seed " << seed;
  }
}

TEST(BoundTest, PhiIsTheShareOfTheAggregateBandwidth) {
  EXPECT_DOUBLE_EQ(Phi(Doubles{0.55, 0.45}, 0), 0.55);
  EXPECT_DOUBLE_EQ(Phi(Doubles{1, 2, 5}, 2), 0.625);
  // A share of phi each is the only split without a penalty.
  EXPECT_DOUBLE_EQ(StaticPenalty(Doubles{0.125, 0.25, 0.625}, Doubles{1, 2, 5}), 1.0);
}

TEST(BoundTest, PartialCopyBoundIsTheAggregateBoundWhenEveryTierHoldsAll) {
  const std::array<uint64_t, 4> bytes{0, 0, 0, 900};
  EXPECT_DOUBLE_EQ(PartialCopyBound(bytes, Doubles{600, 300}), 1.0);
}

TEST(BoundTest, PartialCopyBoundIsSetByTheTierThatAloneHoldsTooMuch) {
  // 400 only on the slow tier: 400/300 s although both tiers together would take 1 s.
  const std::array<uint64_t, 4> slow{0, 0, 400, 500};
  EXPECT_DOUBLE_EQ(PartialCopyBound(slow, Doubles{600, 300}), 400.0 / 300.0);
  // 200 only on the slow tier, which can be hidden behind the rest.
  const std::array<uint64_t, 4> hidden{0, 0, 200, 700};
  EXPECT_DOUBLE_EQ(PartialCopyBound(hidden, Doubles{600, 300}), 1.0);
}

TEST(BoundTest, PartialCopyBoundLooksAtEverySetOfThreeTiers) {
  // Tiers 1 and 2 alone hold 10 each and share 40: 60 over 2 + 1 is the bottleneck, not 70 over 13.
  std::array<uint64_t, 8> bytes{};
  bytes[0b001] = 10;
  bytes[0b010] = 10;
  bytes[0b100] = 10;
  bytes[0b110] = 40;
  EXPECT_DOUBLE_EQ(PartialCopyBound(bytes, Doubles{10, 2, 1}), 20.0);
}

TEST(BoundTest, PartialCopyBoundIsInfiniteForBytesOnADeadTierOnly) {
  const std::array<uint64_t, 4> bytes{0, 10, 1, 0};
  EXPECT_TRUE(std::isinf(PartialCopyBound(bytes, Doubles{10, 0})));
  EXPECT_EQ(PartialCopyBound(std::array<uint64_t, 4>{}, Doubles{10, 0}), 0);
}

using BoundDeathTest = testing::Test;

TEST(BoundDeathTest, ArgumentsOutsideTheModelAbort) {
  EXPECT_DEATH(AggregateBound(1, Doubles{}), "bandwidths");
  EXPECT_DEATH(AggregateBound(1, Doubles{-1}), "bandwidth");
  EXPECT_DEATH(Phi(Doubles{0}, 0), "sum > 0");
  EXPECT_DEATH(StaticTime(1, Doubles{0.5, 0.4}, Doubles{1, 1}), "Sum");
  EXPECT_DEATH(StaticTime(1, Doubles{1}, Doubles{1, 1}), "tier_count");
  EXPECT_DEATH(PartialCopyBound(std::array<uint64_t, 2>{5, 0}, Doubles{1}), "bytes_by_holders");
  EXPECT_DEATH(PartialCopyBound(std::array<uint64_t, 2>{}, Doubles{1, 1}), "bytes_by_holders");
}

}  // namespace
}  // namespace kvstream::model
