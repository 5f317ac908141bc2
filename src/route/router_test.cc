#include "route/router.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace kvstream::route {
namespace {

constexpr uint32_t kBlock = 4096;

PoolChunk Chunk(uint32_t item, uint32_t blocks, TierMask holders) {
  return {item, blocks, kBlock, uint64_t{blocks} * kBlock, holders, item * 0x9e3779b97f4a7c15u, 0};
}

std::vector<PoolChunk> Chunks(uint32_t count, uint32_t blocks, TierMask holders) {
  std::vector<PoolChunk> chunks;
  for (uint32_t item = 0; item < count; ++item) chunks.push_back(Chunk(item, blocks, holders));
  return chunks;
}

TEST(RouterTest, FirstTierClaimsFromTheFrontAndLastFromTheBack) {
  Router router({}, 2);
  router.AddJob(1, Chunks(4, 4, 0b11));
  Claim claim;
  ASSERT_TRUE(router.ClaimNext(0, 2 * kBlock, &claim));
  EXPECT_EQ(claim.item, 0u);
  EXPECT_EQ(claim.first_block, 0u);
  EXPECT_EQ(claim.block_count, 2u);
  ASSERT_TRUE(router.ClaimNext(1, 3 * kBlock, &claim));
  EXPECT_EQ(claim.item, 3u);
  EXPECT_EQ(claim.first_block, 1u);
  EXPECT_EQ(claim.block_count, 3u);
}

TEST(RouterTest, AClaimNeverCrossesAChunkAndIsAtLeastOneBlock) {
  Router router({}, 1);
  router.AddJob(1, Chunks(2, 3, 0b1));
  Claim claim;
  ASSERT_TRUE(router.ClaimNext(0, 100 * kBlock, &claim));
  EXPECT_EQ(claim.block_count, 3u);
  ASSERT_TRUE(router.ClaimNext(0, 1, &claim));
  EXPECT_EQ(claim.block_count, 1u);
}

TEST(RouterTest, TheTailBlockCountsItsOwnBytes) {
  Router router({}, 1);
  PoolChunk chunk = Chunk(0, 2, 0b1);
  chunk.payload_bytes = kBlock + 10;
  router.AddJob(1, {&chunk, 1});
  EXPECT_EQ(router.unread_bytes(), kBlock + 10u);
  Claim claim;
  ASSERT_TRUE(router.ClaimNext(0, 8 * kBlock, &claim));
  EXPECT_EQ(claim.bytes, kBlock + 10u);
  EXPECT_EQ(router.unread_bytes(), 0u);
}

TEST(RouterTest, ExclusivePiecesAreClaimedFirst) {
  Router router({}, 2);
  std::vector<PoolChunk> chunks = Chunks(6, 1, 0b11);
  chunks[4].holders = 0b01;
  chunks[2].holders = 0b10;
  router.AddJob(1, chunks);
  Claim claim;
  ASSERT_TRUE(router.ClaimNext(0, kBlock, &claim));
  EXPECT_EQ(claim.item, 4u);
  ASSERT_TRUE(router.ClaimNext(1, kBlock, &claim));
  EXPECT_EQ(claim.item, 2u);
  EXPECT_EQ(router.NextReaders(0), 0b11);
}

TEST(RouterTest, OrderJobServesTheOldestJobBeforeANewersExclusivePieces) {
  Router router({}, 2);
  router.AddJob(1, Chunks(2, 1, 0b11));
  router.AddJob(2, Chunks(2, 1, 0b10));
  Claim claim;
  ASSERT_TRUE(router.ClaimNext(1, kBlock, &claim));
  EXPECT_EQ(claim.job, 1u);
}

TEST(RouterTest, OrderPoolServesExclusivePiecesOfAnyJobFirst) {
  RoutingOptions options;
  options.order = PoolOrder::kPool;
  Router router(options, 2);
  router.AddJob(1, Chunks(2, 1, 0b11));
  router.AddJob(2, Chunks(2, 1, 0b10));
  Claim claim;
  ASSERT_TRUE(router.ClaimNext(1, kBlock, &claim));
  EXPECT_EQ(claim.job, 2u);
}

TEST(RouterTest, StaticPolicyKeepsATierFromAnothersShareButNotFromOrphans) {
  RoutingOptions options;
  options.policy = Policy::kStaticPosition;
  options.shares = {3, 1};
  Router router(options, 2);
  std::vector<PoolChunk> chunks = Chunks(8, 1, 0b11);
  chunks[0].holders = 0b10;  // assigned to tier 0, which has no copy
  router.AddJob(1, chunks);
  EXPECT_EQ(router.claimable_bytes(0), 5u * kBlock);
  EXPECT_EQ(router.claimable_bytes(1), 3u * kBlock);
}

TEST(RouterTest, RoundRobinAndSingleTierAssignAsNamed) {
  RoutingOptions options;
  options.policy = Policy::kRoundRobin;
  Router round_robin(options, 3);
  round_robin.AddJob(1, Chunks(9, 1, 0b111));
  for (uint32_t tier = 0; tier < 3; ++tier) {
    EXPECT_EQ(round_robin.claimable_bytes(tier), 3u * kBlock);
  }
  options.policy = Policy::kSingleTier;
  options.tier = 2;
  Router single(options, 3);
  single.AddJob(1, Chunks(9, 1, 0b111));
  EXPECT_EQ(single.claimable_bytes(2), 9u * kBlock);
  EXPECT_EQ(single.claimable_bytes(0), 0u);
}

TEST(RouterTest, StaticHashFollowsItsShares) {
  RoutingOptions options;
  options.policy = Policy::kStaticHash;
  options.shares = {2, 1};
  Router router(options, 2);
  router.AddJob(1, Chunks(3000, 1, 0b11));
  const auto share = static_cast<double>(router.claimable_bytes(0)) / (3000.0 * kBlock);
  EXPECT_NEAR(share, 2.0 / 3, 0.03);
}

TEST(RouterTest, ReturnedPiecesGoToTheRemainingHolders) {
  Router router({}, 2);
  router.AddJob(1, Chunks(1, 4, 0b11));
  Claim claim;
  ASSERT_TRUE(router.ClaimNext(0, kBlock, &claim));
  router.Return(claim, 0b10);
  EXPECT_EQ(router.claimable_bytes(0), 0u);
  EXPECT_EQ(router.claimable_bytes(1), 4u * kBlock);
}

TEST(RouterTest, ATierThatIsSetAsideStrandsWhatOnlyItHolds) {
  Router router({}, 2);
  std::vector<PoolChunk> chunks = Chunks(3, 2, 0b11);
  chunks[1].holders = 0b01;
  router.AddJob(1, chunks);
  router.SetUsableTiers(0b10);
  const std::vector<Claim> stranded = router.TakeStranded();
  ASSERT_EQ(stranded.size(), 1u);
  EXPECT_EQ(stranded[0].item, 1u);
  EXPECT_EQ(router.unread_bytes(), 4u * kBlock);
  router.SetUsableTiers(0b11);
  EXPECT_EQ(router.claimable_bytes(0), 4u * kBlock);
}

/// Any interleaving of claims, failures, removals and outages hands every block out at most once at
/// a time, and in the end exactly once.
TEST(RouterTest, EachBlockIsClaimedOnceWhateverTheOrder) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    base::Prng random(seed);
    const auto tiers = static_cast<uint32_t>(1 + random.Below(4));
    const auto all = static_cast<TierMask>((1u << tiers) - 1);
    RoutingOptions options;
    options.policy = static_cast<Policy>(random.Below(5));
    options.order = random.Chance(0.5) ? PoolOrder::kJob : PoolOrder::kPool;
    options.tier = static_cast<uint32_t>(random.Below(tiers));
    Router router(options, tiers);
    std::map<std::pair<JobId, uint32_t>, std::set<uint32_t>> left;
    for (JobId job = 1; job <= 3; ++job) {
      std::vector<PoolChunk> chunks;
      const auto count = static_cast<uint32_t>(random.Below(12));
      for (uint32_t item = 0; item < count; ++item) {
        const auto holders = static_cast<TierMask>(1 + random.Below(all));
        chunks.push_back(Chunk(item, static_cast<uint32_t>(1 + random.Below(9)), holders));
        for (uint32_t block = 0; block < chunks.back().block_count; ++block) {
          left[{job, item}].insert(block);
        }
      }
      router.AddJob(job, chunks);
    }
    uint64_t rounds = 0;
    while (router.unread_bytes() > 0) {
      ASSERT_LT(++rounds, 100000u);
      const auto tier = static_cast<uint32_t>(random.Below(tiers));
      Claim claim;
      if (!router.ClaimNext(tier, (1 + random.Below(6)) * kBlock, &claim)) continue;
      auto& blocks = left.at({claim.job, claim.item});
      for (uint32_t i = 0; i < claim.block_count; ++i) {
        ASSERT_EQ(blocks.erase(claim.first_block + i), 1u);
      }
      if (!random.Chance(0.2)) continue;
      for (uint32_t i = 0; i < claim.block_count; ++i) blocks.insert(claim.first_block + i);
      router.Return(claim, static_cast<TierMask>(1 + random.Below(all)));
    }
    for (const auto& [chunk, blocks] : left) EXPECT_TRUE(blocks.empty());
    for (uint32_t tier = 0; tier < tiers; ++tier) EXPECT_EQ(router.claimable_bytes(tier), 0u);
  }
}

}  // namespace
}  // namespace kvstream::route
