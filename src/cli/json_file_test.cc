#include "cli/json_file.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace kvstream::cli {
namespace {

TEST(JsonFileTest, AFileThatCannotBeWrittenIsAnError) {
  const auto status = WriteJson("/nonexistent/summary.json", {});
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code(), ErrorCode::kIo);
  EXPECT_NE(status.error().message().find("/nonexistent/summary.json"), std::string::npos);
}

}  // namespace
}  // namespace kvstream::cli
