#include "cli/fio_runner.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "kvstream/options.h"

namespace kvstream::cli {
namespace {

bool Has(const std::vector<std::string>& arguments, const std::string& wanted) {
  return std::find(arguments.begin(), arguments.end(), wanted) != arguments.end();
}

TEST(FioRunnerTest, NamesFilesWithFiosOwnEscapes) {
  const std::filesystem::path files[] = {"/a/x:y.kv", "/b/z\\.kv"};
  const auto arguments = FioArguments(files, {kMiB, 16, "io_uring"}, kGiB, {});
  EXPECT_TRUE(Has(arguments, "--filename=/a/x\\:y.kv:/b/z\\\\.kv"));
  EXPECT_TRUE(Has(arguments, "--iodepth=16"));
  EXPECT_TRUE(Has(arguments, "--io_size=1073741824"));
  EXPECT_TRUE(Has(arguments, "--readonly"));
  EXPECT_FALSE(Has(arguments, "--time_based"));
}

TEST(FioRunnerTest, NamesNoMoreFilesThanFioTakes) {
  const std::vector<std::filesystem::path> files(200, "/tier/" + std::string(90, 'x') + ".kv");
  for (const std::string& argument : FioArguments(files, {kMiB, 16, "io_uring"}, kGiB, {})) {
    EXPECT_LE(argument.size(), 4096u + std::string("--filename=").size());
  }
}

TEST(FioRunnerTest, ThreadsShareTheBytes) {
  const std::filesystem::path files[] = {"/a/x.kv"};
  const auto bytes = FioArguments(files, {kMiB, 16, "psync"}, kGiB, {});
  EXPECT_TRUE(Has(bytes, "--numjobs=16"));
  EXPECT_TRUE(Has(bytes, "--io_size=67108864"));
  const auto timed = FioArguments(files, {kMiB, 16, "psync"}, 0, std::chrono::milliseconds(1500));
  EXPECT_TRUE(Has(timed, "--runtime=1500ms"));
}

TEST(FioRunnerTest, FindsTheFiguresAfterWarnings) {
  const auto result = ParseFioOutput(
      "note: something\n{\"jobs\": [{\"read\": {\"io_bytes\": 1048576, \"bw_bytes\": 524288}}]}");
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->bytes_per_second, 524288);
  EXPECT_EQ(result->bytes, 1048576u);
}

TEST(FioRunnerTest, RefusesOutputWithoutFigures) {
  for (const char* output : {"", "fio: bad option", "{", "{}", "{\"jobs\": []}",
                             "{\"jobs\": [{\"read\": {\"io_bytes\": 0, \"bw_bytes\": 0}}]}"}) {
    EXPECT_FALSE(ParseFioOutput(output).has_value()) << output;
  }
}

}  // namespace
}  // namespace kvstream::cli
