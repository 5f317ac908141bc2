#include "tier/namespace_file.h"

#include "tier/tier_test_util.h"

namespace kvstream::tier {
namespace {

TEST(NamespaceFileTest, KeepsEveryFieldOfTheIdentity) {
  Identity identity = TestIdentity("org/\"model\\ \x01\n\xc3\xa9\xff");
  identity.revision = std::string("a\0b", 3);
  identity.layout = "KV_2LTD";
  identity.adapter = "lmcache-mp";
  identity.salt = std::string(5000, '/');
  identity.tensor_parallel_size = 8;
  identity.tensor_parallel_rank = 7;
  identity.pipeline_parallel_size = 2;
  identity.pipeline_parallel_rank = 1;
  identity.row_bytes = ~uint64_t{0};
  const auto record = DecodeNamespace(EncodeNamespace(identity));
  ASSERT_TRUE(record.has_value()) << record.error().ToString();
  EXPECT_EQ(record->fingerprint, chunk::Fingerprint::Of(identity));
  EXPECT_EQ(EncodeNamespace(record->identity), EncodeNamespace(identity));
}

TEST(NamespaceFileTest, ToleratesWhiteSpaceAndOrder) {
  std::string text = EncodeNamespace(TestIdentity());
  const size_t model = text.find("  \"model\"");
  const size_t revision = text.find("  \"revision\"");
  const std::string line = text.substr(model, revision - model);
  text.erase(model, line.size());
  text.insert(2, "\t \r\n" + line);
  const auto record = DecodeNamespace(text);
  ASSERT_TRUE(record.has_value()) << record.error().ToString();
  EXPECT_EQ(record->identity.model, "org/model");
}

TEST(NamespaceFileTest, AnyCutIsCorruption) {
  const std::string good = EncodeNamespace(TestIdentity());
  for (size_t length = 0; length + 1 < good.size(); ++length) {
    ExpectError(DecodeNamespace(good.substr(0, length)), ErrorCode::kCorruption, "");
  }
  ExpectError(DecodeNamespace(good + "x"), ErrorCode::kCorruption, "after the object");
  ExpectError(DecodeNamespace(std::string(kNamespaceFileBytesMax + 1, ' ')), ErrorCode::kCorruption,
              "too long");
}

TEST(NamespaceFileTest, AChangedByteNeverGivesAnotherIdentity) {
  const std::string good = EncodeNamespace(TestIdentity());
  const auto expected = chunk::Fingerprint::Of(TestIdentity());
  for (size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      const auto record = DecodeNamespace(bad);
      if (!record) continue;
      EXPECT_EQ(record->fingerprint, expected) << "byte " << i << " bit " << bit;
    }
  }
}

TEST(NamespaceFileTest, NewerVersionIsRefusedByName) {
  ExpectError(DecodeNamespace("{\"kvstream_namespace\": 2, \"other\": \"x\"}"),
              ErrorCode::kUnsupported, "version 2");
  ExpectError(DecodeNamespace("{\"kvstream_namespace\": 0}"), ErrorCode::kCorruption, "version 0");
}

TEST(NamespaceFileTest, RefusesUnknownMissingAndDoubleFields) {
  const std::string good = EncodeNamespace(TestIdentity());
  const auto with = [&](std::string_view field) {
    std::string text = good;
    return text.insert(1, field);
  };
  ExpectError(DecodeNamespace(with("\"new\": 1,")), ErrorCode::kCorruption, "unknown field");
  ExpectError(DecodeNamespace(with("\"model\": \"x\",")), ErrorCode::kCorruption, "model");
  ExpectError(DecodeNamespace(with("\"x\": -1,")), ErrorCode::kCorruption, "x");
  ExpectError(DecodeNamespace(with("\"x\": {},")), ErrorCode::kCorruption, "x");
  ExpectError(DecodeNamespace(with("\"x\": \"\\u0041\",")), ErrorCode::kCorruption, "x");
  ExpectError(DecodeNamespace(with("\"x\": 99999999999999999999,")), ErrorCode::kCorruption, "x");
  std::string without = good;
  without.replace(without.find("\"salt\""), 6, "\"tlas\"");
  ExpectError(DecodeNamespace(without), ErrorCode::kCorruption, "no salt");
  for (const char* text : {"", "{}", "[]", "{\"a\"}", "{\"a\":}", "null", "{\"a\": \"\\"}) {
    ExpectError(DecodeNamespace(text), ErrorCode::kCorruption, "");
  }
}

}  // namespace
}  // namespace kvstream::tier
