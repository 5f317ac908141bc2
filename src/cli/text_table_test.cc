#include "cli/text_table.h"

#include <gtest/gtest.h>

namespace kvstream::cli {
namespace {

TEST(TextTableTest, AlignsTheFirstColumnLeftAndTheOthersRight) {
  TextTable table({"policy", "gap"});
  table.AddRow({"kvstream", "0.5 %"});
  table.AddRow({"single", "103.0 %"});
  EXPECT_EQ(table.Render(),
            "policy        gap\n"
            "-----------------\n"
            "kvstream    0.5 %\n"
            "single    103.0 %\n");
}

TEST(TextTableTest, FillsShortRowsWithoutTrailingSpaces) {
  TextTable table({"a", "b", "c"});
  table.AddRow({"x"});
  EXPECT_EQ(table.Render(), "a  b  c\n-------\nx\n");
}

TEST(TextTableDeathTest, RefusesARowWiderThanTheHeader) {
  TextTable table({"a"});
  EXPECT_DEATH(table.AddRow({"1", "2"}), "cells.size");
}

}  // namespace
}  // namespace kvstream::cli
