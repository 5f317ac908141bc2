#include "chunk/crc32c.h"

#include <cstring>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace kvstream::chunk {
namespace {

std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(Crc32cTest, AgreesWithTheVectorsOfRfc3720) {
  std::vector<std::byte> data(32, std::byte{0});
  EXPECT_EQ(Crc32c(data), 0x8A9136AAu);
  std::ranges::fill(data, std::byte{0xff});
  EXPECT_EQ(Crc32c(data), 0x62A8AB43u);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i);
  EXPECT_EQ(Crc32c(data), 0x46DD794Eu);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(31 - i);
  EXPECT_EQ(Crc32c(data), 0x113FDB5Cu);
  EXPECT_EQ(Crc32c(Bytes("123456789")), 0xE3069283u);
}

TEST(Crc32cTest, OfNothingIsZeroAndExtendingByNothingChangesNothing) {
  EXPECT_EQ(Crc32c({}), 0u);
  EXPECT_EQ(ExtendCrc32c(0xE3069283u, {}), 0xE3069283u);
}

TEST(Crc32cTest, ExtendsOverSegmentsAsOverTheWhole) {
  const uint64_t seed = 20;
  base::Prng prng(seed);
  std::vector<std::byte> data(70001);
  for (auto& byte : data) byte = static_cast<std::byte>(prng.Next());
  const uint32_t whole = Crc32c(data);
  for (int round = 0; round < 200; ++round) {
    uint32_t crc = 0;
    std::span<const std::byte> left(data);
    while (!left.empty()) {
      const size_t bytes = 1 + prng.Below(left.size());
      crc = ExtendCrc32c(crc, left.first(bytes));
      left = left.subspan(bytes);
    }
    ASSERT_EQ(crc, whole) << "seed " << seed << " round " << round;
  }
}

TEST(Crc32cTest, SeesEverySingleBitFlip) {
  std::vector<std::byte> data(600, std::byte{0x5a});
  const uint32_t whole = Crc32c(data);
  for (size_t bit = 0; bit < data.size() * 8; ++bit) {
    data[bit / 8] ^= std::byte{1} << (bit % 8);
    ASSERT_NE(Crc32c(data), whole) << "bit " << bit;
    data[bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

}  // namespace
}  // namespace kvstream::chunk
