#include "cli/payload.h"

#include <set>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace kvstream::cli {
namespace {

ChunkKey Key(std::string_view name) {
  const std::string_view parts[] = {name};
  return ChunkKey::FromParts(parts);
}

std::vector<std::byte> Payload(const ChunkKey& key, uint64_t offset, size_t bytes) {
  std::vector<std::byte> data(bytes);
  FillPayload(key, offset, data);
  return data;
}

TEST(PayloadTest, AnyPartEqualsThatPartOfTheWhole) {
  const ChunkKey key = Key("a");
  const auto whole = Payload(key, 0, 4096);
  const uint64_t seed = 20260831;
  base::Prng prng(seed);
  for (int round = 0; round < 2000; ++round) {
    const size_t offset = prng.Below(whole.size());
    const size_t bytes = prng.Below(whole.size() - offset) % 64;
    const auto part = Payload(key, offset, bytes);
    ASSERT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + static_cast<long>(offset)))
        << "seed " << seed << " round " << round;
    ASSERT_EQ(VerifyPayload(key, offset, part), std::nullopt)
        << "seed " << seed << " round " << round;
  }
}

TEST(PayloadTest, FindsTheFirstWrongByteWhereverItIs) {
  const ChunkKey key = Key("b");
  const uint64_t offset = 3;
  const auto right = Payload(key, offset, 1000);
  for (size_t at = 0; at < right.size(); ++at) {
    auto data = right;
    data[at] ^= std::byte{1};
    data.back() ^= std::byte{at + 1 < data.size() ? uint8_t{0x80} : uint8_t{0}};
    EXPECT_EQ(VerifyPayload(key, offset, data), offset + at);
  }
}

TEST(PayloadTest, HasNoWordTwiceInOnePayloadOrTwo) {
  std::set<std::vector<std::byte>> words;
  size_t count = 0;
  for (const auto& key : {Key("c"), Key("d")}) {
    const auto data = Payload(key, 0, 64 * 1024);
    for (auto at = data.begin(); at != data.end(); at += 8, ++count) words.emplace(at, at + 8);
  }
  EXPECT_EQ(words.size(), count);
}

TEST(PayloadTest, DiffersFromAnotherKeyAndFromAnotherOffset) {
  EXPECT_EQ(VerifyPayload(Key("e"), 0, Payload(Key("f"), 0, 4096)), 0u);
  EXPECT_EQ(VerifyPayload(Key("e"), 0, Payload(Key("e"), 4096, 4096)), 0u);
  EXPECT_EQ(VerifyPayload(Key("e"), 0, std::vector<std::byte>(4096)), 0u);
}

TEST(PayloadTest, SpoilingBreaksEverySector) {
  const ChunkKey key = Key("g");
  auto data = Payload(key, 0, 8 * 512);
  SpoilPayload(data);
  for (size_t sector = 0; sector < 8; ++sector) {
    const auto part = std::span(data).subspan(sector * 512, 512);
    EXPECT_EQ(VerifyPayload(key, sector * 512, part), sector * 512);
  }
}

}  // namespace
}  // namespace kvstream::cli
