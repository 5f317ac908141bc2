#include "cli/bench.h"

#include <gtest/gtest.h>

namespace kvstream::cli {
namespace {

std::vector<TierArg> Tiers() {
  std::vector<TierArg> tiers(2);
  tiers[0].options.name = "nvme";
  tiers[1].options.name = "pfs";
  return tiers;
}

TEST(BenchOptionsTest, AnEvictionIsAShareAndATier) {
  const auto percent = ParseEviction("20%:1", Tiers());
  ASSERT_TRUE(percent.has_value());
  EXPECT_DOUBLE_EQ(percent->share, 0.2);
  EXPECT_EQ(percent->tier, 1u);
  const auto fraction = ParseEviction("0.4:nvme", Tiers());
  ASSERT_TRUE(fraction.has_value());
  EXPECT_DOUBLE_EQ(fraction->share, 0.4);
  EXPECT_EQ(fraction->tier, 0u);
}

TEST(BenchOptionsTest, RefusesOtherEvictions) {
  for (const char* text : {"", "20%", "20%:", "20%:2", "20%:s3", ":1", "0%:1", "101%:1", "-1:1",
                           "x:1", "2:1", "nan:1"}) {
    const auto eviction = ParseEviction(text, Tiers());
    ASSERT_FALSE(eviction.has_value()) << text;
    EXPECT_NE(eviction.error().message().find("SHARE:TIER"), std::string::npos);
  }
}

}  // namespace
}  // namespace kvstream::cli
