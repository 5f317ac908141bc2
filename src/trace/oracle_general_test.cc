#include "trace/oracle_general.h"

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/temp_dir.h"

namespace kvstream::trace {
namespace {

using ::testing::HasSubstr;

struct Record {
  uint32_t seconds = 0;
  uint64_t id = 0;
  uint32_t bytes = 0;
  int64_t next = 0;
};

template <typename Number>
Number Take(const std::string& text, size_t offset) {
  Number number = 0;
  std::memcpy(&number, text.data() + offset, sizeof(number));  // test machines are little-endian
  return number;
}

std::vector<Record> ReadBack(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream contents;
  contents << file.rdbuf();
  const std::string text = contents.str();
  EXPECT_EQ(text.size() % 24, 0u);
  std::vector<Record> records;
  for (size_t at = 0; at + 24 <= text.size(); at += 24) {
    records.push_back({.seconds = Take<uint32_t>(text, at),
                       .id = Take<uint64_t>(text, at + 4),
                       .bytes = Take<uint32_t>(text, at + 12),
                       .next = Take<int64_t>(text, at + 16)});
  }
  return records;
}

TEST(OracleGeneralTest, EveryAccessNamesTheNextOne) {
  const test::TempDir folder;
  const std::string path = folder.path() / "trace.oracleGeneral";
  const auto trace = LoadTrace("builtin:chat", {});
  ASSERT_TRUE(trace.has_value());
  ASSERT_TRUE(WriteOracleGeneral(*trace, 16 << 20, path).has_value());
  const std::vector<Record> records = ReadBack(path);
  ASSERT_EQ(records.size(), Summarize(*trace).chunk_accesses);
  size_t at = 0;
  std::vector<uint64_t> ids;
  for (const Request& request : trace->requests) {
    trace->ChunkIds(request, ids);
    for (const uint64_t id : ids) {
      ASSERT_EQ(records[at].id, id);
      ASSERT_EQ(records[at].seconds, static_cast<uint32_t>(request.arrival_s));
      ASSERT_EQ(records[at].bytes, 16u << 20);
      ++at;
    }
  }
  std::unordered_map<uint64_t, int64_t> next;
  for (size_t i = records.size(); i-- > 0;) {
    const auto later = next.find(records[i].id);
    ASSERT_EQ(records[i].next, later == next.end() ? -1 : later->second) << "access " << i;
    next[records[i].id] = static_cast<int64_t>(i) + 1;
  }
}

TEST(OracleGeneralTest, WhatCannotBeWrittenIsRefused) {
  const auto trace = LoadTrace("builtin:chat,sessions=1", {});
  ASSERT_TRUE(trace.has_value());
  EXPECT_EQ(WriteOracleGeneral(*trace, 0, "/dev/null").error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(WriteOracleGeneral(*trace, uint64_t{1} << 32, "/dev/null").error().code(),
            ErrorCode::kInvalidArgument);
  const Status nowhere = WriteOracleGeneral(*trace, 1, "/no/such/folder/file");
  ASSERT_FALSE(nowhere.has_value());
  EXPECT_THAT(nowhere.error().message(), HasSubstr("/no/such/folder/file: No such file"));
  const Status full = WriteOracleGeneral(*trace, 1, "/dev/full");
  ASSERT_FALSE(full.has_value());
  EXPECT_EQ(full.error().code(), ErrorCode::kIo);
  RequestTrace lengths = *trace;
  lengths.has_prefixes = false;
  EXPECT_THAT(WriteOracleGeneral(lengths, 1, "/dev/null").error().message(),
              HasSubstr("lengths only"));
}

}  // namespace
}  // namespace kvstream::trace
