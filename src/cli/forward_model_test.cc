#include "cli/forward_model.h"

#include <gtest/gtest.h>

namespace kvstream::cli {
namespace {

using std::chrono::milliseconds;

TEST(ForwardModelTest, AConstantDoesNotDependOnTheBatch) {
  const auto forward = ForwardModel::Parse("constant=50ms", nullptr);
  ASSERT_TRUE(forward.has_value());
  const model::ForwardWork work[] = {{100000, 0}};
  EXPECT_EQ(forward->StepTime(work), milliseconds(50));
  EXPECT_EQ(forward->StepTime({}), milliseconds(50));
}

TEST(ForwardModelTest, TheRooflineIsThatOfFourGpus) {
  const auto preset = model::FindModel("32B");
  const auto forward = ForwardModel::Parse("roofline", &*preset);
  ASSERT_TRUE(forward.has_value());
  const model::ForwardWork one[] = {{1, 0}};
  // 2 bytes x 32.8e9 / (4 x 3.35e12 x 0.9) s = 5.44 ms.
  EXPECT_NEAR(static_cast<double>(forward->StepTime(one).count()), 5.44e6, 0.01e6);
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
