#include "kvstream/chunk_key.h"

#include <functional>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "chunk/fingerprint.h"
#include "chunk/key_hash.h"

namespace kvstream {
namespace {

ChunkKey KeyOf(std::vector<std::string_view> parts) { return ChunkKey::FromParts(parts); }

TEST(ChunkKeyTest, OfPartsIsSha256OverLengthsAndParts) {
  // printf '\x03\0\0\0\0\0\0\0abc\0\0\0\0\0\0\0\0' | sha256sum
  EXPECT_EQ(KeyOf({"abc", ""}).ToHex(),
            "3e2f8940c3a0e0fd6f6e07bbf07f015dd7c147431e5fa14bf3f225d782641540");
  // sha256sum of nothing
  EXPECT_EQ(KeyOf({}).ToHex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(ChunkKeyTest, DependsOnWhereTheContentIsCutIntoParts) {
  const std::set<ChunkKey> keys = {KeyOf({"ab", "c"}), KeyOf({"a", "bc"}), KeyOf({"abc"}),
                                   KeyOf({"abc", ""}), KeyOf({"", "abc"}), KeyOf({})};
  EXPECT_EQ(keys.size(), 6u);
}

TEST(ChunkKeyTest, AcceptsPartsOfAnyContent) {
  using std::string_view_literals::operator""sv;
  const std::string huge(100000, '/');
  EXPECT_NE(KeyOf({"a\0b"sv}), KeyOf({"a"}));
  EXPECT_NE(KeyOf({"../..\n%-"}), KeyOf({"../..\n%"}));
  EXPECT_EQ(KeyOf({huge}).ToHex().size(), 64u);
}

TEST(ChunkKeyTest, SurvivesHexadecimalAndBack) {
  const ChunkKey key = KeyOf({"prefix", "42"});
  const Result<ChunkKey> back = ChunkKey::FromHex(key.ToHex());
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(*back, key);
}

TEST(ChunkKeyTest, RefusesEverythingButSixtyFourLowerCaseDigits) {
  const std::string good = KeyOf({"x"}).ToHex();
  std::string upper = good;
  upper[0] = 'A';
  std::string dirty = good;
  dirty[63] = 'g';
  std::string nul = good;
  nul[5] = '\0';
  for (const std::string& bad : {std::string(), good.substr(1), good + "0", upper, dirty, nul}) {
    const Result<ChunkKey> key = ChunkKey::FromHex(bad);
    ASSERT_FALSE(key.has_value()) << bad;
    EXPECT_EQ(key.error().code(), ErrorCode::kInvalidArgument);
  }
}

TEST(ChunkKeyTest, HashIsTheFirstEightBytes) {
  ChunkKey key;
  key.bytes[0] = std::byte{1};
  key.bytes[7] = std::byte{2};
  key.bytes[8] = std::byte{3};
  EXPECT_EQ(chunk::ChunkKeyHash()(key), 0x0200000000000001u);
}

TEST(IdentityTest, EveryFieldChangesTheFingerprint) {
  const std::vector<std::function<void(Identity&)>> changes = {
      [](Identity& id) { id.model = "org/other"; },
      [](Identity& id) { id.revision = "abc"; },
      [](Identity& id) { id.dtype = "abc"; },
      [](Identity& id) { id.layout = "abc"; },
      [](Identity& id) { id.adapter = "abc"; },
      [](Identity& id) { id.salt = "abc"; },
      [](Identity& id) { id.chunk_tokens = 2; },
      [](Identity& id) { id.tensor_parallel_size = 2; },
      [](Identity& id) { id.tensor_parallel_rank = 2; },
      [](Identity& id) { id.pipeline_parallel_size = 2; },
      [](Identity& id) { id.pipeline_parallel_rank = 2; },
      [](Identity& id) { id.row_bytes = 2; },
  };
  Identity base;
  base.model = "org/model";
  std::set<std::string> fingerprints = {base.Fingerprint()};
  for (const auto& change : changes) {
    Identity changed = base;
    change(changed);
    fingerprints.insert(changed.Fingerprint());
  }
  EXPECT_EQ(fingerprints.size(), changes.size() + 1);
}

TEST(IdentityTest, ContentMovedFromFieldToFieldIsAnotherIdentity) {
  Identity a;
  a.model = "a/b";
  a.revision = "--c";
  Identity b;
  b.model = "a/b--";
  b.revision = "c";
  EXPECT_NE(a.Fingerprint(), b.Fingerprint());
}

TEST(IdentityTest, FingerprintNeverChangesBetweenReleases) {
  Identity identity;
  identity.model = "org/model";
  identity.dtype = "bfloat16";
  identity.chunk_tokens = 256;
  EXPECT_EQ(identity.Fingerprint(),
            "c9ff18f3ed45b6e8fdf6b2d1b5b09680b56829447a7ccf9e66a409afd877b770");
  const auto bytes = chunk::Fingerprint::FromHex(identity.Fingerprint());
  ASSERT_TRUE(bytes.has_value());
  EXPECT_EQ(*bytes, chunk::Fingerprint::Of(identity));
  EXPECT_FALSE(chunk::Fingerprint::FromHex("abc").has_value());
}

}  // namespace
}  // namespace kvstream
