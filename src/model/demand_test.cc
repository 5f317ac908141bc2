#include "model/demand.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace kvstream::model {
namespace {

const std::vector<ReuseBin> kBins{{100, 30}, {40, 10}, {400, 60}};

TEST(DemandTest, IsTheVolumeOfReusesFartherThanTheCapacity) {
  EXPECT_EQ(ReusedVolume(kBins), 100u);
  EXPECT_EQ(Demand(kBins, 0), 100u);
  EXPECT_EQ(Demand(kBins, 39), 100u);
  EXPECT_EQ(Demand(kBins, 40), 90u) << "d = M hits";
  EXPECT_EQ(Demand(kBins, 399), 60u);
  EXPECT_EQ(Demand(kBins, 400), 0u);
}

TEST(DemandTest, NoReuseNoDemand) {
  EXPECT_EQ(ReusedVolume({}), 0u);
  EXPECT_EQ(Demand({}, 0), 0u);
}

// Sec 7: it removes demand near the capacity, not that of sessions far beyond it.
TEST(DemandTest, CompressionDividesVolumeAndDistances) {
  EXPECT_DOUBLE_EQ(CompressedDemand(kBins, 60, 1), 90);
  EXPECT_DOUBLE_EQ(CompressedDemand(kBins, 60, 2), 30) << "(60) / 2: 100 <= 2 * 60 fits now";
  EXPECT_DOUBLE_EQ(CompressedDemand(kBins, 60, 1.5), 60) << "(30 + 60) / 1.5: 100 > 1.5 * 60";
  EXPECT_DOUBLE_EQ(CompressedDemand(kBins, 60, 4), 15);
  EXPECT_DOUBLE_EQ(CompressedDemand(kBins, UINT64_MAX, 3), 0);
}

TEST(DemandTest, NeverGrowsWithCapacityOrCompression) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    base::Prng prng(seed);
    std::vector<ReuseBin> bins;
    for (int i = 0; i < 30; ++i) bins.push_back({prng.Below(1'000), prng.Below(100)});
    uint64_t last = ReusedVolume(bins);
    for (uint64_t capacity = 0; capacity <= 1'000; capacity += 50) {
      const uint64_t demand = Demand(bins, capacity);
      EXPECT_LE(demand, last) << "seed " << seed << " capacity " << capacity;
      EXPECT_LE(CompressedDemand(bins, capacity, 1.7), static_cast<double>(demand) / 1.7)
          << "seed " << seed << " capacity " << capacity;
      last = demand;
    }
    EXPECT_EQ(last, 0u) << "seed " << seed;
  }
}

using DemandDeathTest = testing::Test;

TEST(DemandDeathTest, ArgumentsOutsideTheModelAbort) {
  EXPECT_DEATH(CompressedDemand(kBins, 1, 0.5), "ratio");
  EXPECT_DEATH(ReusedVolume(std::vector<ReuseBin>{{1, UINT64_MAX}, {2, 1}}), "UINT64_MAX");
}

}  // namespace
}  // namespace kvstream::model
