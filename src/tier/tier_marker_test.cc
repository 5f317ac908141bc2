#include "tier/tier_marker.h"

#include <fmt/format.h>

#include "chunk/crc32c.h"
#include "tier/tier_test_util.h"

namespace kvstream::tier {
namespace {

TierUuid Uuid(int first) {
  TierUuid uuid{};
  uuid[0] = static_cast<std::byte>(first);
  uuid[15] = std::byte{0xee};
  return uuid;
}

/// Puts the right checksum under a body, as a hostile writer would.
std::string Sealed(const std::string& body) {
  return body + fmt::format("crc32c {:08x}\n", chunk::Crc32c(std::as_bytes(std::span(body))));
}

TEST(TierMarkerTest, KeepsItsUuid) {
  const auto uuid = DecodeMarker(EncodeMarker(Uuid(7)));
  ASSERT_TRUE(uuid.has_value());
  EXPECT_EQ(*uuid, Uuid(7));
}

TEST(TierMarkerTest, AnyChangedCutOrAddedByteIsCorruption) {
  const std::string good = EncodeMarker(Uuid(7));
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    ExpectError(DecodeMarker(bad), ErrorCode::kCorruption, "");
    ExpectError(DecodeMarker(good.substr(0, i)), ErrorCode::kCorruption, "");
  }
  ExpectError(DecodeMarker(good + "\n"), ErrorCode::kCorruption, "checksum");
  ExpectError(DecodeMarker(std::string(kMarkerFileBytesMax + 1, 'x')), ErrorCode::kCorruption,
              "too long");
}

TEST(TierMarkerTest, NewerVersionIsRefusedByName) {
  ExpectError(DecodeMarker(Sealed("kvstream-tier 2\nanything\n")), ErrorCode::kUnsupported,
              "version 2");
  ExpectError(DecodeSiblings(Sealed("kvstream-siblings 3\n")), ErrorCode::kUnsupported,
              "version 3");
}

TEST(TierMarkerTest, SealedNonsenseIsCorruption) {
  const std::string digits(32, 'a');
  for (const std::string& body :
       {std::string("kvstream-tier 1\n"), "kvstream-tier 1\nuuid " + digits + "0\n",
        "kvstream-tier 1\nuuid " + digits + "\nuuid " + digits + "\n",
        "kvstream-tier 1\nuuid " + digits, "kvstream-siblings 1\nuuid " + digits + "\n",
        "kvstream-tier x\nuuid " + digits + "\n", "kvstream-tier 0\nuuid " + digits + "\n",
        "kvstream-tier 99999999999999\nuuid " + digits + "\n", std::string("kvstream-tier"),
        std::string()}) {
    ExpectError(DecodeMarker(Sealed(body)), ErrorCode::kCorruption, "");
  }
}

TEST(TierMarkerTest, KeepsSiblingsInOrder) {
  std::vector<Sibling> siblings;
  EXPECT_EQ(*DecodeSiblings(EncodeSiblings(siblings)), siblings);
  for (int i = 0; i < static_cast<int>(kSiblingsMax); ++i) {
    siblings.push_back({Uuid(i), std::string(kTierNameBytesMax, 'n')});
  }
  siblings[3].name = "fast nvme";
  const auto decoded = DecodeSiblings(EncodeSiblings(siblings));
  ASSERT_TRUE(decoded.has_value()) << decoded.error().ToString();
  EXPECT_EQ(*decoded, siblings);
}

TEST(TierMarkerTest, RefusesHostileSiblings) {
  const std::string line = "sibling " + std::string(32, 'a') + " n\n";
  std::string many = "kvstream-siblings 1\n";
  for (size_t i = 0; i <= kSiblingsMax; ++i) many += line;
  ExpectError(DecodeSiblings(Sealed(many)), ErrorCode::kCorruption, "too many");
  for (const std::string& bad :
       {std::string("\n"), std::string("sibling\n"), "sibling " + std::string(32, 'a') + " \n",
        "sibling " + std::string(32, 'g') + " n\n",
        "sibling " + std::string(32, 'a') + " " + std::string(kTierNameBytesMax + 1, 'n') + "\n"}) {
    ExpectError(DecodeSiblings(Sealed("kvstream-siblings 1\n" + line + bad)),
                ErrorCode::kCorruption, "line 3");
  }
}

}  // namespace
}  // namespace kvstream::tier
