#include "chunk/path.h"

#include <gtest/gtest.h>

#include "base/prng.h"

namespace kvstream::chunk {
namespace {

const std::string kHex = "00112233445566778899aabbccddeeff0123456789abcdef0123456789abcdef";

ChunkKey Key() { return *ChunkKey::FromHex(kHex); }

TEST(PathTest, NamesAChunkByItsKeyAlone) {
  EXPECT_EQ(ChunkFileName(Key()), kHex + ".kv");
  EXPECT_EQ(FanOut(Key()), "00");
  ASSERT_TRUE(ParseChunkFileName(kHex + ".kv").has_value());
  EXPECT_EQ(*ParseChunkFileName(kHex + ".kv"), Key());
}

TEST(PathTest, RefusesNamesThatAreNotChunks) {
  std::string upper = kHex;
  upper[10] = 'A';
  for (const std::string& name :
       {std::string(), std::string(".kv"), kHex, kHex + ".kv ", kHex + ".KV", "0" + kHex + ".kv",
        kHex.substr(1) + ".kv", upper + ".kv", "../" + kHex.substr(3) + ".kv"}) {
    EXPECT_FALSE(ParseChunkFileName(name).has_value()) << name;
  }
}

TEST(PathTest, TemporaryNameCarriesKeyOwnerAndNonce) {
  const std::string name = TempFileName(Key(), "node-7.rank_3", 0xabcdefu);
  EXPECT_EQ(name, "." + kHex + ".node-7.rank_3.0000000000abcdef.tmp");
  const auto parsed = ParseTempFileName(name);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->key, Key());
  EXPECT_EQ(parsed->owner, "node-7.rank_3");
  EXPECT_EQ(parsed->nonce, 0xabcdefu);
  EXPECT_FALSE(ParseChunkFileName(name).has_value());
}

TEST(PathTest, TemporaryNamesOfHostileOwnersAreReadBackWhole) {
  const std::string longest(kOwnerCharsMax, 'x');
  for (const std::string& owner : {std::string("a"), std::string("."), std::string(".tmp"), longest,
                                   "." + kHex.substr(0, 16) + ".tmp"}) {
    const std::string name = TempFileName(Key(), owner, ~uint64_t{0});
    EXPECT_LE(name.size(), 150u);
    const auto parsed = ParseTempFileName(name);
    ASSERT_TRUE(parsed.has_value()) << name;
    EXPECT_EQ(parsed->owner, owner);
    EXPECT_EQ(parsed->nonce, ~uint64_t{0});
  }
}

TEST(PathTest, RefusesTemporaryNamesCutOrChangedAnywhere) {
  const std::string good = TempFileName(Key(), "me", 1);
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(ParseTempFileName(good.substr(0, length)).has_value()) << length;
  }
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = '/';
    EXPECT_FALSE(ParseTempFileName(bad).has_value()) << bad;
  }
  EXPECT_FALSE(ParseTempFileName("." + kHex + "..0000000000000001.tmp").has_value());
  const std::string too_long(kOwnerCharsMax + 1, 'x');
  EXPECT_FALSE(
      ParseTempFileName("." + kHex + "." + too_long + ".0000000000000001.tmp").has_value());
}

TEST(PathTest, WhatParsesIsAlwaysWhatWouldBeWritten) {
  const uint64_t seed = 7;
  base::Prng prng(seed);
  const std::string alphabet = "0a.f-/kvtmp_";
  const std::string start = TempFileName(Key(), "me", 1);
  for (int round = 0; round < 20000; ++round) {
    std::string name = start;
    for (uint64_t edits = prng.Below(4); edits > 0; --edits) {
      name[prng.Below(name.size())] = alphabet[prng.Below(alphabet.size())];
    }
    const auto parsed = ParseTempFileName(name);
    if (!parsed) continue;
    ASSERT_EQ(TempFileName(parsed->key, parsed->owner, parsed->nonce), name) << "seed " << seed;
  }
}

TEST(PathTest, OwnerNamesHoldNoSeparators) {
  EXPECT_TRUE(IsOwnerName("node7.rank-0_A"));
  for (const char* name : {"", "a/b", "a b", "a\n", "\xc3\xa9", "a:b"}) {
    EXPECT_FALSE(IsOwnerName(name)) << name;
  }
  EXPECT_FALSE(IsOwnerName(std::string_view("a\0b", 3)));
  EXPECT_TRUE(IsOwnerName(std::string(kOwnerCharsMax, 'x')));
  EXPECT_FALSE(IsOwnerName(std::string(kOwnerCharsMax + 1, 'x')));
}

TEST(PathTest, NamespaceDirectoriesAreTheHeadOfTheFingerprint) {
  const auto fingerprint = Fingerprint::FromHex(kHex);
  ASSERT_TRUE(fingerprint.has_value());
  EXPECT_EQ(NamespaceDirectoryName(*fingerprint), kHex.substr(0, 24));
  EXPECT_TRUE(IsNamespaceDirectoryName(kHex.substr(0, 24)));
  EXPECT_FALSE(IsNamespaceDirectoryName(kHex.substr(0, 23)));
  EXPECT_FALSE(IsNamespaceDirectoryName(".kvstream"));
  EXPECT_TRUE(IsFanOut("f0"));
  for (const char* name : {"", "f", "F0", "f0f", "..", "f/"}) EXPECT_FALSE(IsFanOut(name)) << name;
}

}  // namespace
}  // namespace kvstream::chunk
