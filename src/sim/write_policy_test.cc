#include "sim/write_policy.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kvstream::sim {
namespace {

/// The tiers of each chunk of a prefix, one digit a chunk.
std::string Copies(const WriteOptions& options, uint32_t tiers, uint32_t chunks) {
  std::string copies;
  for (uint32_t i = 0; i < chunks; ++i) {
    copies += std::to_string(
        FirstCopies(options, tiers, {.id = i, .position = i, .prefix_chunks = chunks, .bytes = 1}));
  }
  return copies;
}

TEST(WritePolicyTest, FullReplicationWritesToEveryTier) {
  EXPECT_EQ(Copies({}, 2, 4), "3333");
  EXPECT_EQ(Copies({}, 3, 4), "7777");
}

TEST(WritePolicyTest, PlacementByPositionLaysTheSharesEndToEnd) {
  WriteOptions options;
  options.replication = Replication::kNone;
  EXPECT_EQ(Copies(options, 2, 4), "1122");
  options.shares = {3, 1};
  EXPECT_EQ(Copies(options, 2, 8), "11111122");
  options.shares = {1, 1, 2};
  EXPECT_EQ(Copies(options, 3, 8), "11224444");
}

TEST(WritePolicyTest, PoliciesThatCopyLaterBeginWithOneCopy) {
  for (const Replication replication : {Replication::kWhenSlow, Replication::kOnReuse}) {
    WriteOptions options;
    options.replication = replication;
    EXPECT_EQ(Copies(options, 2, 4), "1122");
  }
}

TEST(WritePolicyTest, AFractionIsCopiedAtTheHeadTheTailOrWhereTheTiersMeet) {
  WriteOptions options;
  options.replication = Replication::kFraction;
  options.fraction = 0.4;
  options.shares = {1, 1};
  EXPECT_EQ(Copies(options, 2, 10), "1113333222");
  options.part = PrefixPart::kHead;
  EXPECT_EQ(Copies(options, 2, 10), "3333122222");
  options.part = PrefixPart::kTail;
  EXPECT_EQ(Copies(options, 2, 10), "1111123333");
  options.part = PrefixPart::kMiddle;
  options.shares = {9, 1};
  EXPECT_EQ(Copies(options, 2, 10), "1111113333");
  EXPECT_EQ(Copies(options, 2, 1), "3") << "rounded up";
}

TEST(WritePolicyTest, HashingMeetsTheShares) {
  WriteOptions options;
  options.replication = Replication::kNone;
  options.placement = Placement::kHash;
  options.shares = {3, 1};
  constexpr uint32_t kChunks = 10'000;
  uint32_t on_first = 0;
  for (const char tier : Copies(options, 2, kChunks)) on_first += tier == '1' ? 1 : 0;
  EXPECT_NEAR(on_first / double{kChunks}, 0.75, 0.02);
}

}  // namespace
}  // namespace kvstream::sim
