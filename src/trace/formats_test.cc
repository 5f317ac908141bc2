// One small file of each format, and what is wrong with files of it.

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/calendar_time.h"
#include "trace/request_trace.h"

namespace kvstream::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ids = std::vector<uint64_t>;

std::string DataFile(const std::string& name) {
  return std::string(KVS_SOURCE_DIR "/tests/data/traces/") + name;
}

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream contents;
  contents << file.rdbuf();
  return contents.str();
}

RequestTrace Load(const std::string& source, const TraceOptions& options) {
  Result<RequestTrace> trace = LoadTrace(source, options);
  EXPECT_TRUE(trace.has_value()) << trace.error().ToString();
  return trace ? *std::move(trace) : RequestTrace();
}

std::vector<Ids> AllIds(const RequestTrace& trace) {
  std::vector<Ids> all;
  for (const Request& request : trace.requests) trace.ChunkIds(request, all.emplace_back());
  return all;
}

std::vector<double> Times(const RequestTrace& trace) {
  std::vector<double> times;
  for (const Request& request : trace.requests) times.push_back(request.arrival_s);
  return times;
}

std::vector<std::pair<uint32_t, uint32_t>> SessionsAndTurns(const RequestTrace& trace) {
  std::vector<std::pair<uint32_t, uint32_t>> order;
  for (const Request& request : trace.requests) order.emplace_back(request.session, request.turn);
  return order;
}

void ExpectRefused(const std::string& contents, const std::string& message,
                   const TraceOptions& options) {
  const auto trace = ParseTrace("f", contents, options);
  ASSERT_FALSE(trace.has_value()) << contents;
  EXPECT_EQ(trace.error().code(), ErrorCode::kInvalidArgument) << contents;
  EXPECT_THAT(trace.error().message(), HasSubstr(message)) << contents;
}

/// `row` with the text between the first `name` and the next comma or brace replaced.
std::string With(std::string row, const std::string& name, const std::string& value) {
  const size_t begin = row.find('"' + name + "\": ") + name.size() + 4;
  size_t end = begin;
  for (int depth = 0; depth > 0 || (row[end] != ',' && row[end] != '}'); ++end) {
    depth += row[end] == '[' ? 1 : 0;
    depth -= row[end] == ']' ? 1 : 0;
  }
  return row.replace(begin, end - begin, value);
}

TEST(QwenTest, IdentityComesFromTheChainAndSessionsFromTheParents) {
  const RequestTrace trace = Load(DataFile("qwen_small.jsonl"), {.chunk_tokens = 16});
  EXPECT_EQ(trace.format, "qwen");
  EXPECT_EQ(trace.clock, ArrivalClock::kTrace);
  EXPECT_THAT(AllIds(trace), ElementsAre(Ids{0, 1}, Ids{2, 3, 4}, Ids{0, 1, 5, 6}, Ids{0, 1}))
      << "block 2 after 4 is not block 2 after 1";
  EXPECT_THAT(SessionsAndTurns(trace), ElementsAre(std::pair(0u, 0u), std::pair(1u, 0u),
                                                   std::pair(0u, 1u), std::pair(2u, 0u)));
  EXPECT_THAT(Times(trace), ElementsAre(0.5, 1.25, 2, 2));
  EXPECT_THAT(trace.notes, ElementsAre(HasSubstr("partial block of a prompt is counted"),
                                       HasSubstr("1 requests continue a chat")));
}

TEST(QwenTest, SessionsCanBeOrderedAndLimited) {
  const RequestTrace sequential =
      Load(DataFile("qwen_small.jsonl"), {.chunk_tokens = 16, .order = Order::kSequential});
  EXPECT_THAT(Times(sequential), ElementsAre(0.5, 2, 1.25, 2));
  const RequestTrace robin =
      Load(DataFile("qwen_small.jsonl"), {.chunk_tokens = 16, .order = Order::kRoundRobin});
  EXPECT_THAT(SessionsAndTurns(robin), ElementsAre(std::pair(0u, 0u), std::pair(1u, 0u),
                                                   std::pair(2u, 0u), std::pair(0u, 1u)));
  const RequestTrace longest =
      Load(DataFile("qwen_small.jsonl"), {.chunk_tokens = 16, .session_turns_min = 2});
  EXPECT_THAT(AllIds(longest), ElementsAre(Ids{0, 1}, Ids{0, 1, 2, 3}));
  const RequestTrace cut =
      Load(DataFile("qwen_small.jsonl"), {.chunk_tokens = 16, .context_tokens_max = 45});
  EXPECT_EQ(cut.requests.size(), 2u) << "11 and 12 are too long";
  const RequestTrace first =
      Load(DataFile("qwen_small.jsonl"), {.chunk_tokens = 16, .sessions_max = 1});
  EXPECT_EQ(first.requests.size(), 2u);
}

TEST(QwenTest, MalformedRowsAreRefusedWithFileAndLine) {
  const std::string all = Contents(DataFile("qwen_small.jsonl"));
  const std::string ok = all.substr(0, all.find('\n') + 1);
  const std::string row = With(With(ok, "chat_id", "20"), "timestamp", "9");
  const std::vector<std::pair<std::string, std::string>> refusals{
      {With(row, "timestamp", "0.4"), "f:2: timestamp steps back"},
      {With(row, "timestamp", "-1"), "'timestamp' must be a number"},
      {With(row, "timestamp", "1e300"), "'timestamp' must be a number"},
      {With(row, "chat_id", "10"), "chat_id 10 is there twice"},
      {With(row, "chat_id", "-1"), "'chat_id' must be an integer"},
      {With(row, "parent_chat_id", "-2"), "'parent_chat_id' must be an integer"},
      {With(row, "parent_chat_id", "\"x\""), "'parent_chat_id' must be an integer"},
      {With(row, "input_length", "0"), "'input_length' must be"},
      {With(row, "input_length", "99999999999999999999"), "f:2: "},
      {With(row, "output_length", "4294967296"), "'output_length' must be"},
      {With(row, "turn", "0"), "'turn' must be"},
      {With(row, "hash_ids", "[1]"), "1 hash_ids for 40 tokens"},
      {With(row, "hash_ids", "[1, 2, 3, 4]"), "4 hash_ids for 40 tokens"},
      {With(row, "hash_ids", "[1, 2, -3]"), "'hash_ids' must be"},
      {With(row, "hash_ids", "null"), "'hash_ids' must be an array"},
      {row.substr(0, 60), "f:2: not a complete JSON object"},
  };
  for (const auto& [bad, message] : refusals) {
    ExpectRefused(ok + bad, message, {.format = "qwen", .chunk_tokens = 16});
  }
  ExpectRefused("", "no requests", {.format = "qwen", .chunk_tokens = 16});
  ExpectRefused(ok, "chunks of 24 tokens cannot be made from blocks of 16", {.chunk_tokens = 24});
  ExpectRefused(ok, "are for files that have lengths only",
                {.prefixes = "none", .chunk_tokens = 16});
}

TEST(WekaTest, ADirectoryHasOneConversationAFileAndLocalIds) {
  const RequestTrace trace = Load(DataFile("weka_small"), {.chunk_tokens = 64});
  EXPECT_EQ(trace.format, "weka");
  EXPECT_EQ(trace.clock, ArrivalClock::kSession);
  EXPECT_THAT(AllIds(trace),
              ElementsAre(Ids{0, 1, 2}, Ids{3, 4}, Ids{0, 1, 2, 5, 6}, Ids{7, 8, 9}));
  EXPECT_THAT(SessionsAndTurns(trace), ElementsAre(std::pair(0u, 0u), std::pair(0u, 1u),
                                                   std::pair(0u, 2u), std::pair(1u, 0u)));
  EXPECT_THAT(Times(trace), ElementsAre(0, 0, 9.5, 0)) << "a subagent's clock restarts";
  EXPECT_FLOAT_EQ(trace.requests[2].think_s, 2.5f);
  EXPECT_FLOAT_EQ(trace.requests[0].api_s, 1.5f);
  EXPECT_THAT(trace.notes, ElementsAre(HasSubstr("Only full blocks")));
}

TEST(WekaTest, SharedHeadsAreThoseThatBothSessionsHave) {
  const RequestTrace trace =
      Load(DataFile("weka_small"), {.shared_heads = true, .chunk_tokens = 64});
  EXPECT_THAT(AllIds(trace).back(), ElementsAre(0, 1, 7)) << "160 and 140 tokens: two chunks";
  EXPECT_EQ(trace.requests.back().lost_tokens, 140u - 128);
}

TEST(WekaTest, GlobalIdsAreSharedBetweenConversations) {
  const std::string local = Contents(DataFile("weka_small/b.json"));
  const std::string global = With(local, "hash_id_scope", "\"global\"");
  const auto apart = ParseTrace("f", local + local, {.chunk_tokens = 64});
  const auto shared = ParseTrace("f", global + global, {.chunk_tokens = 64});
  ASSERT_TRUE(apart && shared);
  EXPECT_THAT(AllIds(*apart), ElementsAre(Ids{0, 1, 2}, Ids{3, 4, 5}));
  EXPECT_THAT(AllIds(*shared), ElementsAre(Ids{0, 1, 2}, Ids{0, 1, 2}));
}

TEST(WekaTest, MalformedConversationsAreRefused) {
  const std::string ok = Contents(DataFile("weka_small/b.json"));
  const TraceOptions options{.format = "weka", .chunk_tokens = 64};
  const std::vector<std::pair<std::string, std::string>> refusals{
      {With(ok, "hash_id_scope", "\"file\""), "f:1: 'hash_id_scope' must be"},
      {With(ok, "hash_id_scope", "3"), "'hash_id_scope' must be a string"},
      {With(ok, "block_size", "0"), "'block_size' must be"},
      {With(ok, "block_size", "100"), "cannot be made from blocks of 100"},
      {With(ok, "requests", "{}"), "'requests' must be an array"},
      {With(ok, "requests", "[7]"), "request 0 must be an object"},
      {With(ok, "requests", "[{}]"), "request 0 has no 'type'"},
      {With(ok, "in", "-1"), "'in' must be"},
      {With(ok, "in", "1e9"), "'in' must be"},
      {With(ok, "t", "\"0\""), "'t' must be a number"},
      {With(ok, "hash_ids", "[1]"), "f:1: 1 hash_ids for 192 tokens"},
      {With(ok, "hash_ids", "7"), "'hash_ids' must be an array"},
      {With(ok, "requests", "[]"), "f: no requests"},
      {"", "f: the file is empty"},
      {ok.substr(0, 90), "f:1: not a complete JSON object"},
      {Contents(DataFile("weka_small/a.json")).substr(0, 300), "f: not a complete JSON object"},
  };
  for (const auto& [bad, message] : refusals) ExpectRefused(bad, message, options);
  std::string deep = "{\"t\": 0, \"type\": \"subagent\", \"requests\": []}";
  for (int i = 0; i < 9; ++i) {
    deep = "{\"t\": 0, \"type\": \"subagent\", \"requests\": [" + deep + "]}";
  }
  ExpectRefused(With(ok, "requests", "[" + deep + "]"), "more than 8 levels deep", options);
}

TEST(LmcacheTest, RotatedFilesAreMergedByTime) {
  const RequestTrace trace = Load(DataFile("lmcache_small"), {.output_tokens = 50});
  EXPECT_EQ(trace.format, "lmcache");
  EXPECT_EQ(trace.clock, ArrivalClock::kTrace);
  EXPECT_EQ(trace.chunk_bytes, 2u * 4 * 256 * 64 * 2);
  EXPECT_THAT(Times(trace), ElementsAre(0, 2.5, 3, 8));
  EXPECT_THAT(AllIds(trace), ElementsAre(Ids{0}, Ids{0, 1}, Ids{0, 1, 2}, Ids{3}));
  EXPECT_THAT(SessionsAndTurns(trace), ElementsAre(std::pair(0u, 0u), std::pair(0u, 1u),
                                                   std::pair(0u, 2u), std::pair(1u, 0u)));
  EXPECT_EQ(trace.requests[0].output_tokens, 50u);
  // LMCache's own rule with an unbounded cache: tokens of the leading run of known chunks.
  const TraceSummary summary = Summarize(trace);
  EXPECT_EQ((summary.chunk_accesses - summary.unique_chunks) * 256, 256u + 512);
  EXPECT_EQ(summary.input_tokens, 300u + 600 + 900 + 300) << "seq_len, tails included";
}

TEST(LmcacheTest, ChunksAreCutOnlyWhereTheSizesFit) {
  const RequestTrace trace = Load(DataFile("lmcache_small"), {.chunk_tokens = 512});
  EXPECT_EQ(trace.chunk_bytes, 2u * 2 * 4 * 256 * 64 * 2);
  EXPECT_THAT(AllIds(trace), ElementsAre(Ids{}, Ids{0}, Ids{0}, Ids{}));
}

TEST(LmcacheTest, MalformedRowsAreRefusedWithFileAndLine) {
  const std::string all = Contents(DataFile("lmcache_small/lookup_hashes_1.jsonl"));
  const std::string ok = all.substr(0, all.find('\n') + 1);
  const std::vector<std::pair<std::string, std::string>> refusals{
      {With(ok, "model_name", "\"n\""), "f:2: model 'n' after 'm'; choose one"},
      {With(ok, "model_name", "5"), "'model_name' must be a string"},
      {With(ok, "timestamp", "null"), "'timestamp' must be a number"},
      {With(ok, "seq_len", "-600"), "'seq_len' must be"},
      {With(ok, "seq_len", "1000"), "2 chunk_hashes for 1000 tokens"},
      {With(ok, "chunk_size", "0"), "'chunk_size' must be"},
      {With(ok, "chunk_size", "128"), "chunks of 128 tokens"},
      {With(ok, "dtypes", "[\"torch.complex64\"]"), "f:2: unknown dtype 'torch.complex64'"},
      {With(ok, "dtypes", "[]"), "must be as many"},
      {With(ok, "dtypes", "[3]"), "'dtypes' must be a string"},
      {With(ok, "shapes", "[7]"), "array of arrays"},
      {With(ok, "shapes", "[[0]]"), "'shapes' must be an integer from 1"},
      {With(ok, "shapes", "[[1099511627776, 1099511627776]]"), "more than 1 TiB"},
      {With(ok, "shapes", "[[2, 4, 256, 32]]"), "bytes after chunks of 256 and"},
      {With(ok, "chunk_hashes", "[1, 2]"), "'chunk_hashes' must be a string"},
      {With(ok, "chunk_hashes", "\"aa\""), "'chunk_hashes' must be an array"},
      {With(ok, "request_id", "1"), "'request_id' must be a string"},
      {ok.substr(0, 100), "f:2: not a complete JSON object"},
  };
  for (const auto& [bad, message] : refusals)
    ExpectRefused(ok + bad, message, {.format = "lmcache"});
  ExpectRefused(ok, "no row is of model 'x'; one is of 'm'", {.model = "x"});
  ExpectRefused("", "f: no requests", {.format = "lmcache"});
}

TEST(LmcacheTest, AModelAndTheBytesOfAChunkCanBeChosen) {
  const std::string all = Contents(DataFile("lmcache_small/lookup_hashes_1.jsonl"));
  const std::string other = With(With(all.substr(0, all.find('\n') + 1), "model_name", "\"n\""),
                                 "dtypes", "[\"secret\"]");
  const auto chosen = ParseTrace("f", other + all, {.model = "m"});
  ASSERT_TRUE(chosen.has_value()) << chosen.error().ToString();
  EXPECT_EQ(chosen->requests.size(), 2u);
  const auto given = ParseTrace("f", other, {.source_chunk_bytes = 1234});
  ASSERT_TRUE(given.has_value()) << given.error().ToString();
  EXPECT_EQ(given->chunk_bytes, 1024u) << "whole bytes a token";
}

struct LengthsCase {
  std::string file;
  std::string format;
  std::vector<double> times;
  std::vector<uint32_t> input_tokens;
};

TEST(LengthsTest, TheHeaderDecidesTheDialect) {
  const std::vector<LengthsCase> cases{
      {"azure_small.csv", "azure", {0, 4.314579, 20653.31941}, {1100, 396, 879}},
      {"burstgpt_small.csv", "burstgpt", {5, 45, 118, 124}, {472, 1087, 700, 600}},
      {"vidur_small.csv", "vidur", {0, 1.5}, {600, 700}},
      {"splitwise_small.csv", "splitwise", {0.25, 1.5}, {600, 300}},
      {"lengths_small.csv", "lengths", {0, 0}, {600, 700}},
  };
  for (const LengthsCase& given : cases) {
    SCOPED_TRACE(given.file);
    const RequestTrace trace = Load(DataFile(given.file), {.prefixes = "none"});
    EXPECT_EQ(trace.format, given.format);
    EXPECT_FALSE(trace.has_prefixes);
    EXPECT_EQ(trace.clock, given.format == "lengths" ? ArrivalClock::kNone : ArrivalClock::kTrace);
    ASSERT_EQ(trace.requests.size(), given.times.size());
    for (size_t i = 0; i < given.times.size(); ++i) {
      EXPECT_NEAR(trace.requests[i].arrival_s, given.times[i], 1e-5);
      EXPECT_EQ(trace.requests[i].input_tokens, given.input_tokens[i]);
    }
    EXPECT_EQ(Summarize(trace).reuse, 0);
  }
}

TEST(LengthsTest, WithoutAWordOnPrefixesTheyAreRefused) {
  for (const char* file : {"azure_small.csv", "burstgpt_small.csv", "vidur_small.csv",
                           "splitwise_small.csv", "lengths_small.csv"}) {
    ExpectRefused(Contents(DataFile(file)), "f:1: lengths alone do not say which prefixes", {});
  }
  const std::string mooncake = R"({"timestamp":0,"input_length":600,"output_length":1})";
  ExpectRefused(mooncake, "f:1: no hash_ids: lengths alone do not say", {});
  const auto trace = ParseTrace("f", mooncake, {.prefixes = "none"});
  ASSERT_TRUE(trace.has_value()) << trace.error().ToString();
  EXPECT_FALSE(trace->has_prefixes);
}

TEST(LengthsTest, PrefixesCanBeMadeUp) {
  const RequestTrace shared =
      Load(DataFile("azure_small.csv"), {.prefixes = "shared:600", .chunk_tokens = 128});
  EXPECT_TRUE(shared.has_prefixes);
  EXPECT_THAT(AllIds(shared),
              ElementsAre(Ids{0, 1, 2, 3, 4, 5, 6, 7}, Ids{0, 1, 2}, Ids{0, 1, 2, 3, 8, 9}));
  EXPECT_THAT(shared.notes, ElementsAre(HasSubstr("made up (prefixes shared:600)")));
  const RequestTrace session =
      Load(DataFile("burstgpt_small.csv"), {.prefixes = "session", .chunk_tokens = 128});
  EXPECT_TRUE(session.has_sessions);
  EXPECT_THAT(AllIds(session), ElementsAre(Ids{0, 1, 2}, Ids{3, 4, 5, 6, 7, 8, 9, 10},
                                           Ids{0, 1, 2, 11, 12}, Ids{13, 14, 15, 16}))
      << "600 tokens cannot continue 700 and their answer";
  EXPECT_THAT(session.notes, ElementsAre(HasSubstr("made up"), HasSubstr("1 rows without")));
}

TEST(LengthsTest, AGrowingSharedHeadIsHeldByTheLongestPrompt) {
  const auto trace = ParseTrace("f", "num_prefill_tokens,num_decode_tokens\n256,1\n640,1\n512,1\n",
                                {.prefixes = "shared:512", .chunk_tokens = 128});
  ASSERT_TRUE(trace.has_value()) << trace.error().ToString();
  EXPECT_THAT(AllIds(*trace), ElementsAre(Ids{0, 1}, Ids{0, 1, 2, 3, 4}, Ids{0, 1, 2, 3}));
}

TEST(LengthsTest, MalformedRowsAreRefusedWithFileAndLine) {
  const std::string azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.5,10,1\n";
  const std::string vidur = "arrived_at,num_prefill_tokens,num_decode_tokens\n5,10,1\n";
  const std::vector<std::pair<std::string, std::string>> refusals{
      {azure + "2023-11-16 18:15:46.4,10,1\n", "f:3: TIMESTAMP steps back"},
      {azure + "1700000000,10,1\n", "f:3: 'TIMESTAMP' must be a time like"},
      {azure + "2023-02-29 00:00:00,10,1\n", "must be a time like"},
      {vidur + "4,10,1\n", "f:3: arrived_at steps back"},
      {vidur + "nan,10,1\n", "'arrived_at' must be a number"},
      {vidur + "-6,10,1\n", "'arrived_at' must be a number"},
      {vidur + "1e99,10,1\n", "'arrived_at' must be a number"},
      {vidur + "6,-10,1\n", "'num_prefill_tokens' must be an integer"},
      {vidur + "6,16777217,1\n", "from 0 to 16777216, not '16777217'"},
      {vidur + "6,10,99999999999999999999\n", "'num_decode_tokens' must be"},
      {vidur + "6,10\n", "f:3: 2 values under a header of 3 columns"},
      {vidur + "6,10,1,7\n", "4 values under a header of 3"},
      {vidur + "6,\"10,1\n", "f:3: a quote is not closed"},
      {vidur + "6,,1\n", "not ''"},
      {"a,b,c\n1,2,3\n", "f:1: neither JSON nor columns of a known format; known: azure"},
      {"arrived_at,num_prefill_tokens,num_decode_tokens\n", "f: no requests"},
      {"arrived_at,num_prefill_tokens,num_decode_tokens\n0,0,0\n", "f: no requests"},
  };
  for (const auto& [bad, message] : refusals) ExpectRefused(bad, message, {.prefixes = "none"});
  ExpectRefused(vidur, "column 'TIMESTAMP' is missing", {.format = "azure", .prefixes = "none"});
  ExpectRefused("", "f: the file is empty", {.format = "vidur", .prefixes = "none"});
  for (const char* prefixes : {"all", "shared:", "shared:-1", "shared:16777217", "shared:1x"}) {
    ExpectRefused(vidur, "unknown prefixes", {.prefixes = prefixes});
  }
  ExpectRefused(vidur, "need a file that names sessions", {.prefixes = "session"});
  ExpectRefused(vidur, "no sessions", {.prefixes = "none", .order = Order::kRoundRobin});
}

TEST(FormatsTest, EveryPrefixOfAGoodFileIsATraceOrAnError) {
  for (const char* name : {"qwen_small.jsonl", "weka_small/a.json", "azure_small.csv",
                           "lmcache_small/lookup_hashes_1.jsonl", "burstgpt_small.csv"}) {
    const std::string contents = Contents(DataFile(name));
    ASSERT_FALSE(contents.empty()) << name;
    const bool is_csv = std::string(name).ends_with(".csv");
    for (size_t length = 0; length < contents.size(); ++length) {
      const auto trace = ParseTrace("f", contents.substr(0, length),
                                    {.prefixes = is_csv ? "none" : "", .chunk_tokens = 64});
      const bool fits = trace || trace.error().code() == ErrorCode::kInvalidArgument;
      EXPECT_TRUE(fits) << name << " cut to " << length;
    }
  }
}

TEST(FormatsTest, OtherTracesAreNotDirectories) {
  const auto trace = LoadTrace(KVS_SOURCE_DIR "/tests/data/traces", {.format = "mooncake"});
  ASSERT_FALSE(trace.has_value());
  EXPECT_THAT(trace.error().message(), HasSubstr("a mooncake trace is one file"));
}

TEST(CalendarTimeTest, CountsSecondsFrom1970) {
  EXPECT_EQ(ParseCalendarTime("1970-01-01 00:00:00"), 0.0);
  EXPECT_EQ(ParseCalendarTime("2024-02-29T12:00:01Z"), 1'709'208'001.0);
  EXPECT_NEAR(*ParseCalendarTime("2023-11-16 18:15:46.6805900"), 1'700'158'546.68059, 1e-6);
  EXPECT_NEAR(*ParseCalendarTime("2024-05-10 00:00:00.009930+00:00"), 1'715'299'200.00993, 1e-6);
  for (const char* bad : {"", "2023-11-16", "2023-11-16 24:00:00", "2023-11-16 10:60:00",
                          "2023-13-01 00:00:00", "2023-11-31 00:00:00", "2023-11-16 10:00:00.",
                          "2023-11-16 10:00:00.1234567890", "2023-11-16 10:00:00+02:00",
                          "2023-11-16_10:00:00", "23-11-16 10:00:00", "2023-11-16 1a:00:00"}) {
    EXPECT_FALSE(ParseCalendarTime(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace kvstream::trace
