#include "cli/step_metrics.h"

#include <cmath>

#include <gtest/gtest.h>

namespace kvstream::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

ReadSample Sample(std::chrono::nanoseconds retrieval, std::vector<TierSample> tiers) {
  ReadSample sample;
  sample.retrieval = retrieval;
  sample.tiers = std::move(tiers);
  for (const TierSample& tier : sample.tiers) sample.delivered_bytes += tier.bytes;
  return sample;
}

TEST(StepMetricsTest, TheBoundIsTheBytesOverTheSumOfBandwidths) {
  HolderBytes demand(2);
  demand.Add(0b11, 900);
  demand.Add(0, 500);  // staged
  EXPECT_EQ(demand.total(), 900u);
  TierBandwidths bandwidths(2);
  const auto sample = Sample(milliseconds(1010), {{.bytes = 600, .chunks = 6, .busy = seconds(1)},
                                                  {.bytes = 300, .chunks = 3, .busy = seconds(1)}});
  const StepBound bound = BoundOfStep(demand, sample, &bandwidths);
  EXPECT_DOUBLE_EQ(bound.seconds, 1.0);
  EXPECT_EQ(bound.assumed, 0u);

  PolicyTotals totals(PolicyArg{"kvstream", {}}, 2);
  totals.Add(sample, bound);
  EXPECT_NEAR(totals.gap(), 0.01, 1e-12);
  EXPECT_EQ(totals.tiers[0].chunks, 6u);
  EXPECT_EQ(totals.steps, 1u);
}

TEST(StepMetricsTest, BytesThatOneTierAloneHoldsRaiseTheBound) {
  HolderBytes demand(2);
  demand.Add(0b11, 450);
  demand.Add(0b10, 450);
  TierBandwidths bandwidths(2);
  const auto sample = Sample(seconds(2), {{.bytes = 600, .chunks = 6, .busy = seconds(1)},
                                          {.bytes = 300, .chunks = 3, .busy = seconds(1)}});
  EXPECT_DOUBLE_EQ(BoundOfStep(demand, sample, &bandwidths).seconds, 1.5);
}

TEST(StepMetricsTest, AnIdleTierKeepsItsLastBandwidthAndIsCounted) {
  HolderBytes demand(2);
  demand.Add(0b11, 900);
  TierBandwidths bandwidths(2);
  const auto both = Sample(seconds(1), {{.bytes = 600, .chunks = 6, .busy = seconds(1)},
                                        {.bytes = 300, .chunks = 3, .busy = seconds(1)}});
  const auto one =
      Sample(seconds(2), {{.bytes = 900, .chunks = 9, .busy = milliseconds(1500)}, {}});
  BoundOfStep(demand, both, &bandwidths);
  const StepBound bound = BoundOfStep(demand, one, &bandwidths);
  EXPECT_DOUBLE_EQ(bound.seconds, 1.0);
  EXPECT_EQ(bound.assumed, 1u);
  PolicyTotals totals(PolicyArg{"single", {}}, 2);
  totals.Add(one, bound);
  EXPECT_EQ(totals.assumed_steps, 1u);
  EXPECT_DOUBLE_EQ(totals.gap(), 1.0);
}

TEST(StepMetricsTest, AStepWithoutABoundDoesNotEnterTheGap) {
  HolderBytes demand(2);
  demand.Add(0b10, 900);
  TierBandwidths bandwidths(2);
  const auto sample = Sample(seconds(1), {{.bytes = 900, .chunks = 9, .busy = seconds(1)}, {}});
  const StepBound bound = BoundOfStep(demand, sample, &bandwidths);
  EXPECT_TRUE(std::isinf(bound.seconds));
  PolicyTotals totals(PolicyArg{"single", {}}, 2);
  totals.Add(sample, bound);
  EXPECT_EQ(totals.gap(), 0);
  EXPECT_EQ(totals.retrieval, seconds(1));
  EXPECT_TRUE(totals.step_gaps.empty());
}

}  // namespace
}  // namespace kvstream::cli
