#include "cli/delivery_curve.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "model/bound.h"

namespace kvstream::cli {
namespace {

// `count` completions of `bytes`, evenly spaced.
DeliveryCurve Steady(double bytes_per_second, uint64_t bytes, int count) {
  DeliveryCurve curve;
  for (int i = 1; i <= count; ++i) {
    curve.Add(static_cast<double>(bytes) * i / bytes_per_second, bytes);
  }
  return curve;
}

TEST(DeliveryCurveTest, IsStraightBetweenCompletions) {
  DeliveryCurve curve;
  EXPECT_EQ(curve.BytesAt(1), 0);
  curve.Add(2, 100);
  curve.Add(3, 100);
  curve.Add(3, 50);
  EXPECT_DOUBLE_EQ(curve.BytesAt(1), 50);
  EXPECT_DOUBLE_EQ(curve.BytesAt(2), 100);
  EXPECT_DOUBLE_EQ(curve.BytesAt(2.5), 150);
  EXPECT_DOUBLE_EQ(curve.BytesAt(9), 250);
  EXPECT_EQ(curve.total_bytes(), 250u);
  EXPECT_DOUBLE_EQ(curve.bytes_per_second(), 250.0 / 3);
}

TEST(DeliveryCurveTest, SteadyReadersGiveTheModelsBound) {
  const uint64_t seed = 11;
  base::Prng prng(seed);
  for (int round = 0; round < 200; ++round) {
    const double bandwidths[] = {200.0 + static_cast<double>(prng.Below(800)),
                                 200.0 + static_cast<double>(prng.Below(800)),
                                 200.0 + static_cast<double>(prng.Below(800))};
    std::vector<uint64_t> by_holders(8, 0);
    for (size_t mask = 1; mask < 8; ++mask) by_holders[mask] = prng.Below(1000);
    std::vector<DeliveryCurve> curves;
    for (double bandwidth : bandwidths) curves.push_back(Steady(bandwidth, 10, 4000));
    EXPECT_NEAR(BoundFromReaders(curves, by_holders),
                model::PartialCopyBound(by_holders, bandwidths), 1e-6)
        << "seed " << seed << " round " << round;
  }
}

TEST(DeliveryCurveTest, FollowsABandwidthThatChanges) {
  DeliveryCurve slow = Steady(100, 10, 10);  // 1 s
  for (int i = 1; i <= 10; ++i) slow.Add(1 + 0.01 * i, 10);
  const std::vector<DeliveryCurve> curves = {slow, Steady(100, 10, 100)};
  const std::vector<uint64_t> by_holders = {0, 0, 0, 255};
  // 200 bytes in the first second, then 1,100 bytes a second.
  EXPECT_NEAR(BoundFromReaders(curves, by_holders), 1.05, 1e-9);
}

TEST(DeliveryCurveTest, NeverDeliveredIsInfinite) {
  const std::vector<DeliveryCurve> curves = {Steady(100, 10, 10), {}};
  EXPECT_TRUE(std::isinf(TimeToDeliver(curves, 0b01, 101)));
  EXPECT_TRUE(std::isinf(BoundFromReaders(curves, std::vector<uint64_t>{0, 0, 1, 0})));
  EXPECT_EQ(TimeToDeliver(curves, 0b10, 0), 0);
}

TEST(DeliveryCurveTest, CountsForASetWhatItsTiersAloneHold) {
  EXPECT_EQ(BytesHeldOnlyInside(std::vector<uint64_t>{0, 1, 2, 4}),
            (std::vector<uint64_t>{0, 1, 2, 7}));
}

}  // namespace
}  // namespace kvstream::cli
