#include "kvsim/tier_spec.h"

#include <gtest/gtest.h>

namespace kvstream::kvsim {
namespace {

std::string MessageOf(std::string_view flag) {
  const auto spec = ParseTierFlag(flag);
  if (!spec) return spec.error().message();
  const auto tier = BuildTier(*spec);
  return tier ? "accepted" : tier.error().message();
}

TEST(TierSpecTest, AFlagIsANameItsReadBandwidthAndTheKeysOfADeviceFile) {
  const auto spec = ParseTierFlag("pfs=6GB/s,write=3GB/s,shared=true,total_read=60GB/s");
  ASSERT_TRUE(spec) << spec.error().message();
  const auto tier = BuildTier(*spec);
  ASSERT_TRUE(tier) << tier.error().message();
  EXPECT_EQ(tier->name, "pfs");
  EXPECT_EQ(tier->series.base.read, 6e9);
  EXPECT_EQ(tier->series.base.write, 3e9);
  EXPECT_TRUE(tier->shared);
  EXPECT_EQ(tier->total.read, 60e9);
}

TEST(TierSpecTest, MistakesNameTheFlag) {
  EXPECT_EQ(MessageOf("nvme").find("--tier nvme: 'nvme': expected NAME=READ"), 0u);
  EXPECT_EQ(MessageOf("=7GB/s").find("--tier =7GB/s: "), 0u);
  EXPECT_EQ(MessageOf("nvme=7GB/s,").find("--tier nvme=7GB/s,: '': expected KEY=VALUE"), 0u);
  EXPECT_EQ(MessageOf("nvme=7").find("--tier nvme: read: '7' is not"), 0u);
  EXPECT_EQ(MessageOf("nvme=7GB/s,write=1GB/s,write=2GB/s"), "--tier nvme: write: given twice");
  EXPECT_EQ(MessageOf("nvme=7GB/s,wirte=1GB/s").find("--tier nvme: wirte: unknown key"), 0u);
  EXPECT_EQ(MessageOf("nvme=0GB/s").find("--tier nvme: "), 0u);
}

}  // namespace
}  // namespace kvstream::kvsim
