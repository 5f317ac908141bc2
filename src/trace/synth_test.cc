#include "trace/synth.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kvstream::trace {
namespace {

using ::testing::HasSubstr;

RequestTrace Generate(const std::string& source, const TraceOptions& options = {}) {
  Result<RequestTrace> trace = LoadTrace(source, options);
  EXPECT_TRUE(trace.has_value()) << trace.error().ToString();
  return trace ? *std::move(trace) : RequestTrace();
}

std::vector<std::vector<uint64_t>> AllIds(const RequestTrace& trace) {
  std::vector<std::vector<uint64_t>> all;
  for (const Request& request : trace.requests) trace.ChunkIds(request, all.emplace_back());
  return all;
}

TEST(GenerateTraceTest, AgentsReuseNinetyFivePercent) {
  const RequestTrace trace = Generate("builtin:agent");
  const TraceSummary summary = Summarize(trace);
  EXPECT_EQ(summary.requests, 240u);
  EXPECT_EQ(summary.sessions, 8u);
  EXPECT_NEAR(summary.reuse, 0.95, 0.01);
  EXPECT_EQ(trace.format, "builtin");
  EXPECT_EQ(trace.source, "builtin:agent");
  EXPECT_TRUE(trace.has_sessions);
}

TEST(GenerateTraceTest, ChatSessionsShareTheirSystemPromptAndNothingElse) {
  const RequestTrace trace =
      Generate("builtin:chat,sessions=5,turns=1,system=1024,context=2000", {.chunk_tokens = 256});
  const auto ids = AllIds(trace);
  for (size_t i = 1; i < ids.size(); ++i) {
    EXPECT_TRUE(std::equal(ids[0].begin(), ids[0].begin() + 4, ids[i].begin()));
    EXPECT_NE(ids[0][4], ids[i][4]);
  }
  EXPECT_EQ(Summarize(trace).unique_chunks, Summarize(trace).chunk_accesses - 4 * 4);
}

TEST(GenerateTraceTest, ATurnBeginsWithTheWholePromptBeforeIt) {
  const RequestTrace trace = Generate("builtin:chat,sessions=1,turns=6", {.chunk_tokens = 16});
  const auto ids = AllIds(trace);
  for (size_t i = 1; i < ids.size(); ++i) {
    ASSERT_GE(ids[i].size(), ids[i - 1].size());
    EXPECT_TRUE(std::equal(ids[i - 1].begin(), ids[i - 1].end(), ids[i].begin()));
  }
}

TEST(GenerateTraceTest, QuestionsShareTheDocumentButNotEachOther) {
  const RequestTrace trace =
      Generate("builtin:docs,sessions=1,turns=5,context=4000,turn=600", {.chunk_tokens = 16});
  const auto ids = AllIds(trace);
  for (size_t i = 1; i < ids.size(); ++i) {
    const auto differ = std::mismatch(ids[0].begin(), ids[0].end(), ids[i].begin(), ids[i].end());
    const auto shared_tokens = 16 * (differ.first - ids[0].begin());
    EXPECT_GE(shared_tokens, 2000 - 16);
    EXPECT_LE(shared_tokens, 6000);
    EXPECT_NE(ids[0].back(), ids[i].back());
  }
}

TEST(GenerateTraceTest, ArrivalsAreInOrderAndTheSeedDecides) {
  const RequestTrace one = Generate("builtin:chat,seed=1");
  const RequestTrace again = Generate("builtin:chat,seed=1");
  const RequestTrace other = Generate("builtin:chat,seed=2");
  EXPECT_EQ(AllIds(one), AllIds(again));
  EXPECT_NE(AllIds(one), AllIds(other));
  EXPECT_TRUE(
      std::is_sorted(one.requests.begin(), one.requests.end(),
                     [](const Request& a, const Request& b) { return a.arrival_s < b.arrival_s; }));
  EXPECT_GT(one.requests.back().arrival_s, 1.0);
}

TEST(GenerateTraceTest, OptionsApplyAsToFiles) {
  const RequestTrace trace = Generate("builtin:agent,gap=0,think=0", {.context_tokens_max = 12'000,
                                                                      .session_turns_min = 3,
                                                                      .sessions_max = 4,
                                                                      .order = Order::kRoundRobin,
                                                                      .requests_max = 10});
  EXPECT_EQ(trace.requests.size(), 10u);
  EXPECT_EQ(trace.session_count, 4u);
  for (const Request& request : trace.requests) EXPECT_LE(request.input_tokens, 12'000u);
}

TEST(GenerateTraceTest, WrongParametersAreRefusedAndTheKnownOnesListed) {
  const std::vector<std::pair<std::string, std::string>> refusals{
      {"builtin:", "known: builtin:chat builtin:agent builtin:docs"},
      {"builtin:web", "unknown kind 'web'"},
      {"builtin:agent,speed=3", "known: sessions turns system context turn output gap think seed"},
      {"builtin:agent,sessions", "name=value"},
      {"builtin:agent,,sessions=1", "name=value"},
      {"builtin:agent,sessions=", "from 1 to"},
      {"builtin:agent,sessions=0", "from 1 to"},
      {"builtin:agent,sessions=-1", "from 1 to"},
      {"builtin:agent,sessions=1.5", "from 1 to"},
      {"builtin:agent,sessions=8x", "from 1 to"},
      {"builtin:agent,sessions=99999999999999999999", "from 1 to"},
      {"builtin:agent,turn=0", "from 1 to"},
      {"builtin:agent,context=16777217", "from 0 to 16777216"},
      {"builtin:agent,sessions=10000,turns=10000", "more than 10000000 requests"},
      {"builtin:agent,turns=100000", "prompts may exceed 16777216 tokens"},
      {"builtin:agent,gap=5", "builtin:agent,gap=5: gap: '5' is not a duration"},
      {"builtin:agent,think=-1s", "is not a duration"},
  };
  for (const auto& [source, message] : refusals) {
    const auto trace = LoadTrace(source, {});
    ASSERT_FALSE(trace.has_value()) << source;
    EXPECT_EQ(trace.error().code(), ErrorCode::kInvalidArgument) << source;
    EXPECT_THAT(trace.error().message(), HasSubstr(message)) << source;
  }
}

TEST(GenerateTraceTest, TheLargestSizesStayWithinTheLimitOfAPrompt) {
  const RequestTrace trace = Generate(
      "builtin:docs,sessions=20,turns=2,context=8000000,turn=3000000", {.chunk_tokens = 4096});
  for (const Request& request : trace.requests) EXPECT_LE(request.input_tokens, kPromptTokensMax);
}

}  // namespace
}  // namespace kvstream::trace
