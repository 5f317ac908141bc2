#include "cli/line_file.h"

#include <unistd.h>

#include <gtest/gtest.h>

namespace kvstream::cli {
namespace {

TEST(LineFileTest, AFileThatCannotBeWrittenIsAnError) {
  EXPECT_EQ(LineFile::Create("/nonexistent/lines.jsonl").error().code(), ErrorCode::kIo);
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  auto file = LineFile::Create("/dev/full");
  ASSERT_TRUE(file.has_value());
  const bool appended = file->Append("line\n").has_value();
  EXPECT_FALSE(appended && file->Close().has_value());
}

}  // namespace
}  // namespace kvstream::cli
