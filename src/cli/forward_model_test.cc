#include "cli/forward_model.h"

#include <gtest/gtest.h>

#include "kvstream/options.h"

namespace kvstream::cli {
namespace {

using std::chrono::milliseconds;

TEST(ForwardModelTest, KnowsThePresetsOfThePaper) {
  EXPECT_EQ(FindModel("14B")->kv_bytes_per_token, 40 * kKiB);
  EXPECT_EQ(FindModel("32B")->kv_bytes_per_token, 64 * kKiB);
  EXPECT_EQ(FindModel("70B")->kv_bytes_per_token, 80 * kKiB);
  const auto unknown = FindModel("7B");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_NE(unknown.error().message().find("known: 14B"), std::string::npos);
}

TEST(ForwardModelTest, AConstantDoesNotDependOnTheBatch) {
  const auto forward = ForwardModel::Parse("constant=50ms", nullptr);
  ASSERT_TRUE(forward.has_value());
  const ForwardWork work[] = {{100000, 0}};
  EXPECT_EQ(forward->StepTime(work), milliseconds(50));
  EXPECT_EQ(forward->StepTime({}), milliseconds(50));
}

TEST(ForwardModelTest, TheRooflineIsMemoryThenComputeBound) {
  const auto model = FindModel("32B");
  const auto forward = ForwardModel::Parse("roofline", &*model);
  ASSERT_TRUE(forward.has_value());
  const ForwardWork one[] = {{1, 0}};
  // 2 bytes x 32.8e9 / (4 x 3.35e12 x 0.8) s = 6.12 ms.
  EXPECT_NEAR(static_cast<double>(forward->StepTime(one).count()), 6.12e6, 0.01e6);
  const ForwardWork many[] = {{8192, 0}};
  // (2 x 32.8e9 x 8192 + 4 x 64 x 5120 x 8192^2 / 2) / (4 x 989e12 x 0.5) s = 293.9 ms.
  EXPECT_NEAR(static_cast<double>(forward->StepTime(many).count()), 293.9e6, 0.1e6);
  const ForwardWork longer[] = {{8192, 100000}};
  EXPECT_GT(forward->StepTime(longer), forward->StepTime(many));
}

TEST(ForwardModelTest, RefusesOtherTexts) {
  for (const char* text : {"", "constant", "constant=", "constant=5", "magic", "roofline "}) {
    EXPECT_FALSE(ForwardModel::Parse(text, nullptr).has_value()) << text;
  }
  EXPECT_NE(ForwardModel::Parse("roofline", nullptr).error().message().find("--model"),
            std::string::npos);
}

}  // namespace
}  // namespace kvstream::cli
