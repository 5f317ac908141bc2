#include "kvsim/grid.h"

#include <gtest/gtest.h>

#include "kvstream/options.h"

namespace kvstream::kvsim {
namespace {

TEST(GridTest, ARangeIsEvenlySpacedAndTakesTheUnitOfItsEnd) {
  const auto sizes = ParseByteGrid("20..160GiB/8");
  ASSERT_TRUE(sizes) << sizes.error().message();
  ASSERT_EQ(sizes->size(), 8u);
  EXPECT_EQ(sizes->front(), 20 * kGiB);
  EXPECT_EQ((*sizes)[1], 40 * kGiB);
  EXPECT_EQ(sizes->back(), 160 * kGiB);
  EXPECT_EQ(ParseByteGrid("512MiB..1GiB/2")->front(), 512 * kMiB);
  EXPECT_EQ(*ParseNumberGrid("0.5..3/6"), (std::vector<double>{0.5, 1, 1.5, 2, 2.5, 3}));
}

TEST(GridTest, AListIsTakenAsItIs) {
  EXPECT_EQ(*ParseByteGrid("80GiB"), (std::vector<uint64_t>{80 * kGiB}));
  EXPECT_EQ(*ParseNumberGrid("2,1"), (std::vector<double>{2, 1}));
}

TEST(GridTest, MistakesNameTheText) {
  for (const char* text :
       {"", "20..", "..3", "3..2", "1..2/1", "1..2/x", "1..2/1001", "1,,2", "a"}) {
    EXPECT_FALSE(ParseNumberGrid(text)) << text;
  }
  EXPECT_NE(ParseNumberGrid("3..2").error().message().find("'3..2': LO must be below HI"),
            std::string::npos);
}

}  // namespace
}  // namespace kvstream::kvsim
