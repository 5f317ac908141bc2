#include "kvsim/sim_policy.h"

#include <vector>

#include <gtest/gtest.h>

namespace kvstream::kvsim {
namespace {

class SimPolicyTest : public ::testing::Test {
 protected:
  SimPolicyTest() : tiers_(2) {
    tiers_[0].name = "nvme";
    tiers_[0].series.base = {.read = 7e9, .write = 4e9};
    tiers_[1].name = "pfs";
    tiers_[1].series.base = {.read = 3e9, .write = 3e9};
  }

  std::string MessageOf(std::string_view text) const {
    const auto policy = ParseSimPolicy(text, tiers_);
    return policy ? "accepted" : policy.error().message();
  }

  std::vector<sim::TierModel> tiers_;
};

TEST_F(SimPolicyTest, OneTierMeansThatTheOthersDoNotExist) {
  const auto policy = ParseSimPolicy("serial:pfs", tiers_);
  ASSERT_TRUE(policy) << policy.error().message();
  EXPECT_TRUE(policy->storage.serial);
  EXPECT_EQ(policy->only_tier, 1u);
  sim::Scenario scenario;
  scenario.storage.link_bytes_per_second = 5e9;
  scenario.storage.write.stage_bytes = 77;
  ApplyPolicy(*policy, tiers_, &scenario);
  ASSERT_EQ(scenario.tiers.size(), 1u);
  EXPECT_EQ(scenario.tiers[0].name, "pfs");
  EXPECT_EQ(scenario.storage.routing.tier, 0u);
  EXPECT_TRUE(scenario.storage.serial);
  EXPECT_EQ(scenario.storage.link_bytes_per_second, 5e9);
  EXPECT_EQ(scenario.storage.write.stage_bytes, 77u);
}

TEST_F(SimPolicyTest, NoneHasNoTiers) {
  const auto policy = ParseSimPolicy("none", {});
  ASSERT_TRUE(policy);
  sim::Scenario scenario;
  scenario.tiers = tiers_;
  ApplyPolicy(*policy, tiers_, &scenario);
  EXPECT_TRUE(scenario.tiers.empty());
}

TEST_F(SimPolicyTest, StaticSplitsPlaceEachChunkOnceUnlessToldOtherwise) {
  const auto once = ParseSimPolicy("static:3:1", tiers_);
  ASSERT_TRUE(once);
  EXPECT_EQ(once->storage.write.replication, sim::Replication::kNone);
  EXPECT_EQ(once->storage.write.shares, (std::vector<double>{3, 1}));
  const auto full = ParseSimPolicy("static:3:1+full", tiers_);
  ASSERT_TRUE(full);
  EXPECT_EQ(full->storage.write.replication, sim::Replication::kFull);
  const auto hash = ParseSimPolicy("hash", tiers_);
  ASSERT_TRUE(hash);
  EXPECT_EQ(hash->storage.write.placement, sim::Placement::kHash);
}

TEST_F(SimPolicyTest, WritePoliciesHaveTheirArguments) {
  const auto full = ParseSimPolicy("kvstream", tiers_);
  ASSERT_TRUE(full);
  EXPECT_EQ(full->storage.write.replication, sim::Replication::kFull);
  EXPECT_EQ(full->storage.write.shares, (std::vector<double>{7e9, 3e9}));
  const auto part = ParseSimPolicy("kvstream+fraction:0.25:tail", tiers_);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->storage.write.replication, sim::Replication::kFraction);
  EXPECT_EQ(part->storage.write.fraction, 0.25);
  EXPECT_EQ(part->storage.write.part, sim::PrefixPart::kTail);
  const auto slow = ParseSimPolicy("chunks:4+when-slow:1.5", tiers_);
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->storage.routing.claim_chunks, 4u);
  EXPECT_EQ(slow->storage.write.slow_factor, 1.5);
  const auto reuse = ParseSimPolicy("kvstream+on-reuse", tiers_);
  ASSERT_TRUE(reuse);
  EXPECT_EQ(reuse->storage.write.replication, sim::Replication::kOnReuse);
}

TEST_F(SimPolicyTest, AGivenWritePolicyStandsInWhereSeveralTiersDoNotSay) {
  const auto given = ParseSimPolicy("kvstream", tiers_, "on-reuse");
  ASSERT_TRUE(given);
  EXPECT_EQ(given->storage.write.replication, sim::Replication::kOnReuse);
  const auto said = ParseSimPolicy("kvstream+full", tiers_, "on-reuse");
  ASSERT_TRUE(said);
  EXPECT_EQ(said->storage.write.replication, sim::Replication::kFull);
  EXPECT_FALSE(ParseSimPolicy("single", tiers_, "on-reuse")->says_write);
}

TEST_F(SimPolicyTest, MistakesNameTheTextAndTheReason) {
  EXPECT_EQ(MessageOf("best").find("--policy best: unknown policy; accepted: READ[+WRITE]"), 0u);
  EXPECT_EQ(MessageOf("single:ssd").find("--policy single:ssd: no tier \"ssd\"; "), 0u);
  EXPECT_EQ(MessageOf("static:1").find("--policy static:1: 1 shares for 2 tiers; "), 0u);
  EXPECT_EQ(MessageOf("none+full").find("--policy none+full: none writes nothing"), 0u);
  EXPECT_EQ(MessageOf("single+once").find("--policy single+once: one tier has"), 0u);
  EXPECT_EQ(MessageOf("kvstream+twice").find("--policy kvstream+twice: unknown write policy"), 0u);
  for (const char* text : {"kvstream+full:1", "kvstream+fraction:2", "kvstream+fraction:0.5:end",
                           "kvstream+when-slow:0.5", "kvstream+", "chunks:0", "serialx"}) {
    EXPECT_EQ(MessageOf(text).find(std::string("--policy ") + text + ": "), 0u) << text;
  }
}

TEST_F(SimPolicyTest, StorageNeedsATier) {
  const auto policy = ParseSimPolicy("kvstream", {});
  ASSERT_FALSE(policy);
  EXPECT_NE(policy.error().message().find("--device or --tier"), std::string::npos);
}

}  // namespace
}  // namespace kvstream::kvsim
