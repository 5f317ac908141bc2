#include "trace/request_trace.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kvstream::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
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

TEST(MooncakeTest, CutsEveryBlockIntoChunksAndDropsTheTail) {
  const RequestTrace trace = Load(DataFile("mooncake_small.jsonl"), {.chunk_tokens = 256});
  EXPECT_EQ(trace.format, "mooncake");
  EXPECT_EQ(trace.clock, ArrivalClock::kTrace);
  EXPECT_FALSE(trace.has_sessions);
  EXPECT_EQ(trace.chunk_count, 6u);
  EXPECT_THAT(AllIds(trace),
              ElementsAre(Ids{0, 1, 2, 3}, Ids{0, 1, 2, 3, 4}, Ids{0, 1, 2, 3}, Ids{5}));
  EXPECT_THAT(trace.notes, ElementsAre(HasSubstr("partial block of a prompt is counted")));
  const Request& second = trace.requests[1];
  EXPECT_EQ(second.input_tokens, 1500u);
  EXPECT_EQ(second.output_tokens, 20u);
  EXPECT_EQ(second.tail_tokens, 1500u - 5 * 256);
  EXPECT_EQ(second.session, 1u);
  EXPECT_EQ(second.turn, 0u);
  EXPECT_DOUBLE_EQ(trace.requests[3].arrival_s, 3.0015);
}

TEST(MooncakeTest, CountsSharedTokensThatNoFullChunkCovers) {
  const RequestTrace trace = Load(DataFile("mooncake_small.jsonl"), {.chunk_tokens = 256});
  EXPECT_EQ(trace.requests[0].lost_tokens, 0u);
  EXPECT_EQ(trace.requests[1].lost_tokens, 0u);
  EXPECT_EQ(trace.requests[2].lost_tokens, 1100u - 4 * 256) << "the whole prompt came before";
}

TEST(MooncakeTest, JoinsBlocksIntoLargerChunks) {
  const RequestTrace trace = Load(DataFile("mooncake_small.jsonl"), {.chunk_tokens = 1024});
  EXPECT_THAT(AllIds(trace), ElementsAre(Ids{0}, Ids{0}, Ids{0}, Ids{}));
  EXPECT_EQ(trace.requests[3].tail_tokens, 400u);
}

TEST(MooncakeTest, TakesIdsAsContentSoThatOnlyEqualPrefixesAreShared) {
  const auto trace = ParseTrace("t",
                                R"({"input_length": 1024, "output_length": 1, "hash_ids": [1, 2]}
{"input_length": 1024, "output_length": 1, "hash_ids": [3, 2]}
{"input_length": 1024, "output_length": 1, "hash_ids": [1, 1]}
)",
                                {.chunk_tokens = 512});
  ASSERT_TRUE(trace.has_value()) << trace.error().ToString();
  EXPECT_THAT(AllIds(*trace), ElementsAre(Ids{0, 1}, Ids{2, 3}, Ids{0, 4}));
  EXPECT_EQ(trace->clock, ArrivalClock::kNone);
  EXPECT_THAT(trace->notes, IsEmpty()) << "whole blocks say nothing about partial ones";
}

TEST(MooncakeTest, AcceptsABlockSizePerRowAndFullBlocksOnly) {
  const auto trace = ParseTrace(
      "t", R"({"timestamp":5,"input_length":40,"output_length":1,"block_size":16,"hash_ids":[1,2]}
{"timestamp":6,"input_length":50,"output_length":1,"block_size":16,"hash_ids":[1,2,3]})",
      {.chunk_tokens = 16});
  ASSERT_TRUE(trace.has_value()) << trace.error().ToString();
  EXPECT_THAT(AllIds(*trace), ElementsAre(Ids{0, 1}, Ids{0, 1, 2}));
  EXPECT_THAT(trace->notes, ElementsAre(HasSubstr("Only full blocks")));
}

TEST(PrefixTrieTest, SharesTheKeptBlocksOfTheRowItRefersTo) {
  const RequestTrace trace = Load(DataFile("prefix_trie_small.jsonl"), {.chunk_tokens = 64});
  EXPECT_EQ(trace.format, "prefix-trie");
  EXPECT_EQ(trace.clock, ArrivalClock::kSession);
  EXPECT_TRUE(trace.has_sessions);
  EXPECT_EQ(trace.session_count, 3u);
  EXPECT_THAT(AllIds(trace), ElementsAre(Ids{0, 1, 2}, Ids{0, 1, 2, 3, 4}, Ids{0, 1, 5, 6},
                                         Ids{7, 8}, Ids{9}, Ids{9, 10}));
  const Request& second = trace.requests[1];
  EXPECT_EQ(second.turn, 1u);
  EXPECT_DOUBLE_EQ(second.arrival_s, 2.5);
  EXPECT_FLOAT_EQ(second.think_s, 2.5f);
  EXPECT_FLOAT_EQ(trace.requests[0].api_s, 1.5f);
}

TEST(PrefixTrieTest, DividesBlocksAndKeptBlocksForLargerChunks) {
  const RequestTrace trace = Load(DataFile("prefix_trie_small.jsonl"), {.chunk_tokens = 128});
  EXPECT_THAT(AllIds(trace), ElementsAre(Ids{0}, Ids{0, 1}, Ids{0, 2}, Ids{3}, Ids{}, Ids{4}));
  EXPECT_EQ(trace.requests[1].lost_tokens, 64u);
}

TEST(PrefixTrieTest, CutsBlocksIntoSmallerChunks) {
  const RequestTrace trace =
      Load(DataFile("prefix_trie_small.jsonl"), {.chunk_tokens = 32, .sessions_max = 1});
  EXPECT_THAT(AllIds(trace), ElementsAre(Ids{0, 1, 2, 3, 4, 5}, Ids{0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
                                         Ids{0, 1, 2, 3, 10, 11, 12, 13}));
}

TEST(PrefixTrieTest, ReadsGzipAlike) {
  const RequestTrace plain = Load(DataFile("prefix_trie_small.jsonl"), {.chunk_tokens = 64});
  const RequestTrace packed = Load(DataFile("prefix_trie_small.jsonl.gz"), {.chunk_tokens = 64});
  EXPECT_EQ(AllIds(packed), AllIds(plain));
}

TEST(PrefixTrieTest, ASessionEndsBeforeItsFirstLongPrompt) {
  const RequestTrace trace =
      Load(DataFile("prefix_trie_small.jsonl"), {.chunk_tokens = 64, .context_tokens_max = 260});
  EXPECT_EQ(trace.requests.size(), 4u) << "row 2 of session a is short again but comes too late";
  EXPECT_EQ(trace.requests[0].input_tokens, 200u);
  EXPECT_EQ(trace.requests[1].session, 1u);
}

TEST(PrefixTrieTest, ShortSessionsDoNotCountAmongTheFirst) {
  const RequestTrace trace = Load(DataFile("prefix_trie_small.jsonl"),
                                  {.chunk_tokens = 64, .session_turns_min = 2, .sessions_max = 2});
  EXPECT_THAT(AllIds(trace),
              ElementsAre(Ids{0, 1, 2}, Ids{0, 1, 2, 3, 4}, Ids{0, 1, 5, 6}, Ids{7}, Ids{7, 8}));
  EXPECT_EQ(trace.session_count, 2u);
}

std::vector<std::pair<uint32_t, uint32_t>> SessionsAndTurns(const RequestTrace& trace) {
  std::vector<std::pair<uint32_t, uint32_t>> order;
  for (const Request& request : trace.requests) order.emplace_back(request.session, request.turn);
  return order;
}

TEST(OrderTest, RoundRobinTakesOneTurnOfEverySession) {
  const RequestTrace trace =
      Load(DataFile("prefix_trie_small.jsonl"), {.chunk_tokens = 64, .order = Order::kRoundRobin});
  EXPECT_THAT(SessionsAndTurns(trace),
              ElementsAre(std::pair(0u, 0u), std::pair(1u, 0u), std::pair(2u, 0u),
                          std::pair(0u, 1u), std::pair(2u, 1u), std::pair(0u, 2u)));
}

TEST(OrderTest, RequestsMaxCutsTheChosenOrderAndKeepsIdsDense) {
  const RequestTrace trace =
      Load(DataFile("prefix_trie_small.jsonl"),
           {.chunk_tokens = 64, .order = Order::kRoundRobin, .requests_max = 4});
  EXPECT_THAT(AllIds(trace), ElementsAre(Ids{0, 1, 2}, Ids{5, 6}, Ids{7}, Ids{0, 1, 2, 3, 4}));
  EXPECT_EQ(trace.chunk_count, 8u);
  EXPECT_EQ(trace.runs.size(), 4u);
}

TEST(OrderTest, InterleavingNeverSwapsTurnsAndKeepsToItsWindow) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const RequestTrace trace = Load("builtin:chat,sessions=20,turns=4",
                                    {.order = Order::kInterleave, .window = 3, .seed = seed});
    std::vector<uint32_t> next(20, 0);
    size_t open = 0;
    for (const Request& request : trace.requests) {
      ASSERT_EQ(request.turn, next[request.session]++);
      if (request.turn == 0) ++open;
      ASSERT_LE(open, 3u);
      if (request.turn == 3) --open;
    }
    ASSERT_EQ(trace.requests.size(), 80u);
  }
}

TEST(OrderTest, TheSameSeedGivesTheSameInterleavingAndAnotherOneDoesNot) {
  const auto order = [](uint64_t seed) {
    return SessionsAndTurns(Load("builtin:agent", {.order = Order::kInterleave, .seed = seed}));
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

TEST(OrderTest, SequentialServesOneSessionAfterTheOther) {
  const auto order = SessionsAndTurns(Load("builtin:agent", {.order = Order::kSequential}));
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_EQ(order.size(), 240u);
}

TEST(LoadTraceTest, NamesAFileThatCannotBeRead) {
  const auto missing = LoadTrace("/no/such/trace.jsonl", {});
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(missing.error().message(), HasSubstr("/no/such/trace.jsonl: No such file"));
  const auto directory = LoadTrace(KVS_SOURCE_DIR "/docs", {});
  ASSERT_FALSE(directory.has_value());
  EXPECT_EQ(directory.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(directory.error().message(), HasSubstr("docs: no file ends in .json or"));
}

TEST(SummaryTest, AddsUpTheTrace) {
  const RequestTrace trace = Load(DataFile("mooncake_small.jsonl"), {.chunk_tokens = 256});
  const TraceSummary summary = Summarize(trace);
  EXPECT_EQ(summary.requests, 4u);
  EXPECT_EQ(summary.sessions, 4u);
  EXPECT_EQ(summary.input_tokens, 4100u);
  EXPECT_EQ(summary.output_tokens, 60u);
  EXPECT_EQ(summary.chunk_accesses, 14u);
  EXPECT_EQ(summary.unique_chunks, 6u);
  EXPECT_EQ(summary.tail_tokens, 4100u - 14 * 256);
  EXPECT_EQ(summary.lost_tokens, 76u);
  EXPECT_DOUBLE_EQ(summary.reuse, 8.0 / 14);
}

struct Refusal {
  std::string contents;
  std::string message;
};

void ExpectRefused(const Refusal& refusal, const TraceOptions& options = {.chunk_tokens = 64}) {
  const auto trace = ParseTrace("f", refusal.contents, options);
  ASSERT_FALSE(trace.has_value()) << refusal.contents;
  EXPECT_EQ(trace.error().code(), ErrorCode::kInvalidArgument) << refusal.contents;
  EXPECT_THAT(trace.error().message(), HasSubstr(refusal.message)) << refusal.contents;
}

TEST(RefusalTest, MalformedMooncakeRowsAreRefusedWithFileAndLine) {
  const std::string ok = R"({"timestamp":9,"input_length":600,"output_length":1,"hash_ids":[1,2]})"
                         "\n";
  const std::vector<Refusal> refusals{
      {R"({"timestamp":8,"input_length":600,"output_length":1,"hash_ids":[1,2]})", "steps back"},
      {R"({"timestamp":-1,"input_length":600,"output_length":1,"hash_ids":[1,2]})", "'timestamp'"},
      {R"({"timestamp":1e99,"input_length":600,"output_length":1,"hash_ids":[1,2]})",
       "'timestamp'"},
      {R"({"timestamp":"9","input_length":600,"output_length":1,"hash_ids":[1,2]})", "not \"9\""},
      {R"({"input_length":600,"output_length":1,"hash_ids":[1,2]})", "all or none"},
      {R"({"timestamp":9,"output_length":1,"hash_ids":[1,2]})", "'input_length' is missing"},
      {R"({"timestamp":9,"input_length":0,"output_length":1,"hash_ids":[]})", "from 1 to 16777216"},
      {R"({"timestamp":9,"input_length":-5,"output_length":1,"hash_ids":[]})", "'input_length'"},
      {R"({"timestamp":9,"input_length":1.5,"output_length":1,"hash_ids":[]})", "'input_length'"},
      {R"({"timestamp":9,"input_length":99999999,"output_length":1,"hash_ids":[]})", "16777216"},
      {R"({"timestamp":9,"input_length":99999999999999999999,"output_length":1,"hash_ids":[]})",
       "f:2: "},
      {R"({"timestamp":9,"input_length":600,"output_length":-1,"hash_ids":[1,2]})",
       "'output_length'"},
      {R"({"timestamp":9,"input_length":600,"output_length":null,"hash_ids":[1,2]})", "not null"},
      {R"({"timestamp":9,"input_length":600,"output_length":1})", "some have none; give them"},
      {R"({"timestamp":9,"input_length":600,"output_length":1,"hash_ids":5})", "must be an array"},
      {R"({"timestamp":9,"input_length":600,"output_length":1,"hash_ids":[1,-2]})", "not -2"},
      {R"({"timestamp":9,"input_length":600,"output_length":1,"hash_ids":["1",2]})", "'hash_ids'"},
      {R"({"timestamp":9,"input_length":600,"output_length":1,"hash_ids":[1]})", "1 hash_ids for"},
      {R"({"timestamp":9,"input_length":600,"output_length":1,"hash_ids":[1,2,3]})", "block_size"},
      {R"({"timestamp":9,"input_length":600,"output_length":1,"block_size":0,"hash_ids":[1,2]})",
       "'block_size'"},
      {R"({"timestamp":9,"input_length":600,"output_length":1,"block_size":256,"hash_ids":[1,2,3]})",
       "after blocks of 512"},
      {R"({"timestamp":9,"input_length":600,"output_l)", "complete JSON object"},
      {"{\"timestamp\":9,\n\"input_length\":600}", "complete JSON object"},
      {ok + "[1, 2]", "f:3: expected a JSON object, found an array"},
      {"{} {}", "complete JSON object"},
      {"\xff\xfe", "f:2: "},
      {std::string(2000, '['), "complete JSON object"},
  };
  for (const Refusal& refusal : refusals) ExpectRefused({ok + refusal.contents, refusal.message});
}

TEST(RefusalTest, MalformedPrefixTrieRowsAreRefusedWithFileLineAndRow) {
  const std::string head =
      R"({"id":"x","block":64,"cols":"t,in,out,blocks,ref,keep,think,api","r":)";
  const std::string row = "[[0,200,5,3,-1,0,0,0],";
  const std::vector<Refusal> refusals{
      {head + row + "[1,200,5,3,1,3,0,0]]}", "f:1: row 1 of 'r' 'ref' must be -1"},
      {head + row + "[1,200,5,3,-2,0,0,0]]}", "'ref' must be -1"},
      {head + row + "[1,200,5,3,0.5,0,0,0]]}", "'ref' must be -1"},
      {head + row + "[1,200,5,3,99999999999,1,0,0]]}", "'ref' must be -1"},
      {head + row + "[1,200,5,3,0,0,0,0]]}", "exactly where 'keep' is 0"},
      {head + row + "[1,200,5,3,-1,1,0,0]]}", "exactly where 'keep' is 0"},
      {head + row + "[1,400,5,6,0,4,0,0]]}", "keeps more blocks"},
      {head + row + "[1,100,5,1,0,2,0,0]]}", "keeps more blocks"},
      {head + row + "[1,200,5,2,0,2,0,0]]}", "has 2 blocks for 200 tokens"},
      {head + row + "[1,200,5,4,0,2,0,0]]}", "has 4 blocks for 200 tokens"},
      {head + row + "[1,200,5,3,0,3,0]]}", "row 1 of 'r' must be an array of 8"},
      {head + row + "[1,200,5,3,0,3,0,0,0]]}", "must be an array of 8"},
      {head + row + "7]}", "must be an array of 8"},
      {head + row + "[-1,200,5,3,0,3,0,0]]}", "'t' must be"},
      {head + row + "[1,200,5,3,0,3,-1,0]]}", "'think' must be"},
      {head + row + "[1,200,5,3,0,3,0,\"1\"]]}", "'api' must be"},
      {head + row + "[1,-200,5,3,0,3,0,0]]}", "'in' must be"},
      {head + row + "[1,2e9,5,3,0,3,0,0]]}", "'in' must be"},
      {head + row + "[1,200,4294967296,3,0,3,0,0]]}", "'out' must be"},
      {head + row + "[1,200,5,18446744073709551615,0,3,0,0]]}", "'blocks' must be"},
      {head + row + "[1,200,5,3,0,-3,0,0]]}", "'keep' must be"},
      {head + "{}}", "'r' must be an array, not an object"},
      {head + "[]}", "f: no requests"},
      {R"({"block":0,"cols":"t,in,out,blocks,ref,keep,think,api","r":[]})", "'block'"},
      {R"({"block":96,"cols":"t,in,out,blocks,ref,keep,think,api","r":[]})", "cannot be made"},
      {R"({"block":64,"cols":"t,in,out","r":[]})", "'cols' must be"},
      {R"({"block":64,"cols":8,"r":[]})", "'cols' must be"},
      {R"({"cols":"t,in,out,blocks,ref,keep,think,api","r":[]})", "'block' is missing"},
  };
  for (const Refusal& refusal : refusals) ExpectRefused(refusal);
}

TEST(RefusalTest, FilesThatAreNoTraceAreRefused) {
  ExpectRefused({"", "f: the file is empty"});
  ExpectRefused({"\n \r\n\t\n", "the file is empty"});
  ExpectRefused({R"({"a": 1})", "known: qwen (chat_id, hash_ids) mooncake"});
  ExpectRefused({"timestamp,input_length\n", "f:1: neither JSON nor columns of a known format"});
  ExpectRefused({"\xff\xfe", "f:1: neither JSON nor columns"});
  ExpectRefused({"", "f: no requests"}, {.format = "mooncake"});
  ExpectRefused({"{}", "unknown trace format 'csv'"}, {.format = "csv"});
}

TEST(RefusalTest, OptionsThatDoNotFitAreRefused) {
  const std::string ok = Contents(DataFile("mooncake_small.jsonl"));
  ASSERT_FALSE(ok.empty());
  ExpectRefused({ok, "chunk tokens"}, {.chunk_tokens = 0});
  ExpectRefused({ok, "chunk tokens"}, {.chunk_tokens = kPromptTokensMax + 1});
  ExpectRefused({ok, "f:1: chunks of 300 tokens"}, {.chunk_tokens = 300});
  ExpectRefused({ok, "no sessions"}, {.sessions_max = 1});
  ExpectRefused({ok, "no sessions"}, {.session_turns_min = 2});
  ExpectRefused({ok, "no sessions"}, {.order = Order::kRoundRobin});
  ExpectRefused({ok, "no sessions"}, {.order = Order::kInterleave});
  ExpectRefused({ok, "f: no requests"}, {.context_tokens_max = 10});
}

TEST(RefusalTest, DamagedGzipIsRefused) {
  const std::string ok = Contents(DataFile("prefix_trie_small.jsonl.gz"));
  ASSERT_GT(ok.size(), 100u);
  for (size_t length = 2; length < ok.size(); ++length) {
    ExpectRefused({ok.substr(0, length), "f: gzip data ends too early"});
  }
  std::string flipped = ok;
  flipped[flipped.size() - 6] ^= 1;  // in the CRC of the trailer
  ExpectRefused({flipped, "f: gzip data is damaged"});
  ExpectRefused({ok + "tail", "followed by bytes"});
  EXPECT_TRUE(ParseTrace("f", ok, {.chunk_tokens = 64}).has_value());
}

TEST(RefusalTest, EveryPrefixOfAGoodFileIsATraceOrAnError) {
  for (const char* name : {"mooncake_small.jsonl", "prefix_trie_small.jsonl"}) {
    const std::string contents = Contents(DataFile(name));
    size_t accepted = 0;
    for (size_t length = 0; length <= contents.size(); ++length) {
      const auto trace = ParseTrace("f", contents.substr(0, length), {.chunk_tokens = 64});
      if (trace)
        ++accepted;
      else
        EXPECT_EQ(trace.error().code(), ErrorCode::kInvalidArgument);
    }
    // Exactly where a row ends, with or without its line feed.
    EXPECT_EQ(accepted,
              2 * static_cast<size_t>(std::count(contents.begin(), contents.end(), '\n')));
  }
}

}  // namespace
}  // namespace kvstream::trace
