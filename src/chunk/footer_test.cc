#include "chunk/footer.h"

#include <array>
#include <cstring>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "chunk/crc32c.h"

namespace kvstream::chunk {
namespace {

using FooterBytes = std::array<std::byte, kFooterBytes>;

constexpr size_t kVersionAt = 8;
constexpr size_t kCrcAt = 4092;

template <typename T>
void Put(FooterBytes& bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
}

/// Makes the footer's own checksum agree again, as a hostile writer would.
void Seal(FooterBytes& bytes) { Put(bytes, kCrcAt, Crc32c(std::span(bytes).first(kCrcAt))); }

class FooterTest : public ::testing::Test {
 protected:
  FooterTest() {
    fingerprint_.bytes.fill(std::byte{0xf1});
    for (size_t i = 0; i < key_.bytes.size(); ++i) key_.bytes[i] = static_cast<std::byte>(i);
  }

  MetaRef Meta(uint64_t payload_bytes, uint32_t block_bytes = kBlockBytes) {
    MetaRef meta = MetaRef::Create(3, key_, payload_bytes, block_bytes);
    meta.mutable_meta().write_id = 0x1122334455667788u;
    meta.mutable_meta().generation_ns = 1700000000000000001u;
    uint32_t value = 0xc0000000u;
    for (uint32_t& crc : meta.mutable_meta().crcs()) crc = value++;
    return meta;
  }

  FooterBytes Encode(const MetaRef& meta, std::string_view owner = "node7") {
    FooterBytes bytes;
    EncodeFooter(*meta, fingerprint_, owner, bytes);
    return bytes;
  }

  void ExpectCorrupt(const FooterBytes& bytes, std::string_view field) {
    const auto decoded = DecodeFooter(bytes, 0);
    ASSERT_FALSE(decoded.has_value()) << field;
    EXPECT_EQ(decoded.error().code(), ErrorCode::kCorruption) << field;
    EXPECT_NE(decoded.error().message().find(field), std::string::npos)
        << decoded.error().message();
  }

  ChunkKey key_;
  Fingerprint fingerprint_;
};

TEST_F(FooterTest, KeepsEveryFieldOfTheMeta) {
  const struct {
    uint64_t payload_bytes;
    uint32_t block_bytes;
  } cases[] = {{1, kBlockBytes},
               {4096, 4096},
               {kBlockBytes, kBlockBytes},
               {kBlockBytes + 1, kBlockBytes},
               {12582913, 8192 * 5},
               {kChunkBytesMax, kBlockBytes},
               {uint64_t{kBlocksMax} * 4096, 4096}};
  for (const auto& c : cases) {
    const MetaRef meta = Meta(c.payload_bytes, c.block_bytes);
    const auto decoded = DecodeFooter(Encode(meta, std::string(63, 'o')), 9);
    ASSERT_TRUE(decoded.has_value()) << decoded.error().ToString();
    EXPECT_EQ(decoded->meta->ns, 9);
    EXPECT_EQ(decoded->meta->key, key_);
    EXPECT_EQ(decoded->meta->write_id, meta->write_id);
    EXPECT_EQ(decoded->meta->generation_ns, meta->generation_ns);
    EXPECT_EQ(decoded->meta->payload_bytes, c.payload_bytes);
    EXPECT_EQ(decoded->meta->block_bytes, c.block_bytes);
    EXPECT_TRUE(std::ranges::equal(decoded->meta->crcs(), meta->crcs()));
    EXPECT_EQ(decoded->fingerprint, fingerprint_);
    EXPECT_EQ(decoded->owner, std::string(63, 'o'));
  }
}

TEST_F(FooterTest, AnyFlippedBitIsCorruption) {
  FooterBytes bytes = Encode(Meta(3 * kBlockBytes));
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    const auto decoded = DecodeFooter(bytes, 0);
    ASSERT_FALSE(decoded.has_value()) << "bit " << bit;
    ASSERT_EQ(decoded.error().code(), ErrorCode::kCorruption) << "bit " << bit;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
  EXPECT_TRUE(DecodeFooter(bytes, 0).has_value());
}

TEST_F(FooterTest, ZerosAndRandomBytesAreCorruption) {
  FooterBytes bytes = {};
  ExpectCorrupt(bytes, "magic");
  base::Prng prng(1);
  for (auto& byte : bytes) byte = static_cast<std::byte>(prng.Next());
  ExpectCorrupt(bytes, "magic");
}

TEST_F(FooterTest, NewerVersionIsRefusedByName) {
  FooterBytes bytes = Encode(Meta(5000));
  Put(bytes, kVersionAt, uint32_t{2});
  Seal(bytes);
  const auto decoded = DecodeFooter(bytes, 0);
  ASSERT_FALSE(decoded.has_value());
  EXPECT_EQ(decoded.error().code(), ErrorCode::kUnsupported);
  EXPECT_NE(decoded.error().message().find("version 2"), std::string::npos);
  Put(bytes, kVersionAt, uint32_t{0});
  Seal(bytes);
  ExpectCorrupt(bytes, "version 0");
}

TEST_F(FooterTest, HostileFieldsWithAValidChecksumAreNamed) {
  const auto hostile = [&](size_t offset, auto value, std::string_view field) {
    FooterBytes bytes = Encode(Meta(5000, 4096));
    Put(bytes, offset, value);
    Seal(bytes);
    ExpectCorrupt(bytes, field);
  };
  hostile(12, uint32_t{0}, "header length");
  hostile(12, ~uint32_t{0}, "header length");
  hostile(80, uint64_t{0}, "payload length");
  hostile(80, kChunkBytesMax + 1, "payload length");
  hostile(80, ~uint64_t{0}, "payload length");
  hostile(80, uint64_t{4096}, "block count");
  hostile(80, uint64_t{3 * 4096}, "block count");
  hostile(80, uint64_t{2000} * 4096, "block count");
  hostile(104, uint32_t{0}, "block length");
  hostile(104, uint32_t{4095}, "block length");
  hostile(104, kBlockBytes + 4096, "block length");
  hostile(104, uint32_t{0xfffff000}, "block length");
  hostile(108, uint32_t{0}, "block count");
  hostile(108, ~uint32_t{0}, "block count");
  hostile(112, '/', "owner");
  hostile(112, '\0', "owner");
  hostile(112 + 63, 'x', "owner");
  hostile(176, uint8_t{1}, "reserved");
  hostile(255, uint8_t{1}, "reserved");
  hostile(256 + 2 * 4, uint32_t{1}, "beyond the last block");
  hostile(kCrcAt - 1, uint8_t{1}, "beyond the last block");
}

TEST_F(FooterTest, OwnerThatFillsItsFieldIsRefused) {
  FooterBytes bytes = Encode(Meta(5000));
  std::fill_n(bytes.begin() + 112, 64, static_cast<std::byte>('x'));
  Seal(bytes);
  ExpectCorrupt(bytes, "owner");
}

TEST_F(FooterTest, SealedNoiseNeverPassesUnlessItReadsBackTheSame) {
  const uint64_t seed = 99;
  base::Prng prng(seed);
  const FooterBytes start = Encode(Meta(5000, 4096));
  for (int round = 0; round < 20000; ++round) {
    FooterBytes bytes = start;
    for (uint64_t edits = 1 + prng.Below(4); edits > 0; --edits) {
      bytes[8 + prng.Below(300)] = static_cast<std::byte>(prng.Next());
    }
    Seal(bytes);
    const auto decoded = DecodeFooter(bytes, 0);
    if (!decoded) continue;
    FooterBytes again;
    EncodeFooter(*decoded->meta, decoded->fingerprint, decoded->owner, again);
    ASSERT_EQ(again, bytes) << "seed " << seed << " round " << round;
  }
}

}  // namespace
}  // namespace kvstream::chunk
