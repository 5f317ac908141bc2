#include "cli/policy_arg.h"

#include <vector>

#include <gtest/gtest.h>

namespace kvstream::cli {
namespace {

std::vector<TierOptions> Tiers() {
  std::vector<TierOptions> tiers(2);
  tiers[0].name = "nvme";
  tiers[1].name = "pfs";
  return tiers;
}

TEST(PolicyArgTest, ReadsEveryPolicy) {
  const auto tiers = Tiers();
  const auto kvstream = ParsePolicy("kvstream", tiers, PoolOrder::kPool);
  ASSERT_TRUE(kvstream.has_value());
  EXPECT_EQ(kvstream->routing.policy, Policy::kMeetInMiddle);
  EXPECT_EQ(kvstream->routing.order, PoolOrder::kPool);
  EXPECT_EQ(ParsePolicy("kvstream:job", tiers, PoolOrder::kPool)->routing.order, PoolOrder::kJob);

  const auto chunks = ParsePolicy("chunks:4", tiers);
  ASSERT_TRUE(chunks.has_value());
  EXPECT_EQ(chunks->routing.claim_chunks, 4u);
  EXPECT_EQ(chunks->routing.order, PoolOrder::kPool);

  EXPECT_EQ(ParsePolicy("single", tiers)->routing.tier, 0u);
  EXPECT_EQ(ParsePolicy("single:pfs", tiers)->routing.tier, 1u);
  EXPECT_EQ(ParsePolicy("single:1", tiers)->routing.tier, 1u);
  EXPECT_EQ(ParsePolicy("single:1", tiers)->routing.policy, Policy::kSingleTier);

  const auto shares = ParsePolicy("static:2:1", tiers);
  ASSERT_TRUE(shares.has_value());
  EXPECT_EQ(shares->routing.policy, Policy::kStaticPosition);
  EXPECT_EQ(shares->routing.shares, (std::vector<double>{2, 1}));
  EXPECT_EQ(shares->label, "static:2:1");
  EXPECT_EQ(ParsePolicy("hash", tiers)->routing.policy, Policy::kStaticHash);
  EXPECT_EQ(ParsePolicy("roundrobin", tiers)->routing.policy, Policy::kRoundRobin);
}

TEST(PolicyArgTest, RefusesWhatItDoesNotKnowAndNamesTheText) {
  for (const char* text : {"",
                           "best",
                           "kvstream:",
                           "kvstream:x",
                           "kvstream:job:job",
                           "chunks",
                           "chunks:0",
                           "chunks:-1",
                           "chunks:4x",
                           "single:",
                           "single:2",
                           "single:s3",
                           "single:0:1",
                           "static:1",
                           "static:1:2:3",
                           "static:0:0",
                           "static:-1:2",
                           "static:nan:1",
                           "static:inf:1",
                           "hash:a:b",
                           "roundrobin:1"}) {
    const auto policy = ParsePolicy(text, Tiers());
    ASSERT_FALSE(policy.has_value()) << text;
    EXPECT_EQ(policy.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(policy.error().message().find(std::string("--policy ") + text), std::string::npos);
    EXPECT_NE(policy.error().message().find("roundrobin"), std::string::npos);
  }
}

}  // namespace
}  // namespace kvstream::cli
