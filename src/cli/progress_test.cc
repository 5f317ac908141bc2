#include "cli/progress.h"

#include <array>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace kvstream::cli {
namespace {

class ProgressTest : public ::testing::Test {
 protected:
  std::string Written() {
    std::array<char, 256> text{};
    std::rewind(file_.get());
    const size_t bytes = std::fread(text.data(), 1, text.size(), file_.get());
    return std::string(text.data(), bytes);
  }

  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Closer> file_{std::tmpfile()};
  const TimePoint start_{std::chrono::seconds(1)};
};

TEST_F(ProgressTest, WritesNothingWhereThereIsNoTerminal) {
  Progress progress(file_.get(), false);
  progress.Update(start_, "step 1");
  progress.Clear();
  EXPECT_EQ(Written(), "");
}

TEST_F(ProgressTest, ShowsAtMostTwoLinesASecond) {
  Progress progress(file_.get(), true);
  progress.Update(start_, "step 1");
  progress.Update(start_ + std::chrono::milliseconds(499), "step 2");
  progress.Update(start_ + std::chrono::milliseconds(500), "step 3");
  EXPECT_EQ(Written(), "\rstep 1\rstep 3");
}

TEST_F(ProgressTest, BlanksWhatALongerLineLeft) {
  Progress progress(file_.get(), true);
  progress.Update(start_, "step 100");
  progress.Update(start_ + std::chrono::seconds(1), "done");
  progress.Clear();
  EXPECT_EQ(Written(), "\rstep 100\rdone    \r    \r");
}

}  // namespace
}  // namespace kvstream::cli
