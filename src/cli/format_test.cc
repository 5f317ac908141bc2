#include "cli/format.h"

#include <gtest/gtest.h>

namespace kvstream::cli {
namespace {

TEST(FormatTest, TextBreaksAtSpacesOnly) {
  EXPECT_EQ(WrapText("aa bb cc", 5), "aa bb\ncc\n");
  EXPECT_EQ(WrapText("aa bb cc", 8), "aa bb cc\n");
  EXPECT_EQ(WrapText("a longer b", 3), "a\nlonger\nb\n");
  EXPECT_EQ(WrapText("", 3), "\n");
}

TEST(FormatTest, SharesAndTimesHaveUnits) {
  EXPECT_EQ(FormatPercent(0.0123), "1.23 %");
  EXPECT_EQ(FormatSeconds(1.5), "1.5 s");
}

}  // namespace
}  // namespace kvstream::cli
