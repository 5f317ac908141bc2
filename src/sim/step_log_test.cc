#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/step_log_reader.h"
#include "sim/step_log_run.h"

namespace kvstream::sim {
namespace {

using testing::HasSubstr;

constexpr uint64_t kChunk = 1'000'000;

struct LineSpec {
  uint64_t step = 1;
  std::string policy = "kvstream";
  uint32_t chunks = 100;
  uint32_t holders = 3;
  double b0 = 3e6;  // bytes per second shown; 0: did not read
  double b1 = 1e6;
  double forward_s = 1;
};

std::string TierJson(std::string_view name, double bandwidth) {
  const uint64_t bytes = bandwidth > 0 ? 1'000'000'000 : 0;
  return fmt::format(
      R"({{"name":"{}","read_bytes":{},"read_chunks":1,"read_busy_s":{},"written_bytes":0,)"
      R"("write_busy_s":0}})",
      name, bytes, bandwidth > 0 ? static_cast<double>(bytes) / bandwidth : 0);
}

std::string Line(const LineSpec& spec) {
  std::string chunks;
  for (uint32_t i = 0; i < spec.chunks; ++i) {
    chunks += fmt::format(R"({}{{"id":{},"bytes":{},"position":{},"holders":{},"staged":false}})",
                          i > 0 ? "," : "", 1000 + i, kChunk, i, spec.holders);
  }
  return fmt::format(
             R"({{"step":{},"t_s":1.5,"policy":"{}","demand_bytes":{},"tiers":[{},{}],)"
             R"("read_twice_bytes":0,"staged_hit_bytes":0,"missed_chunks":0,"retrieval_s":25.5,)"
             R"("bound_s":null,"forward_s":{},"write_s":0,"new_bytes":0,"staged_bytes":0,"requests":2,)"
             R"("new_field":[1],"chunks":[{}]}})",
             spec.step, spec.policy, spec.chunks * kChunk, TierJson("nvme", spec.b0),
             TierJson("pfs", spec.b1), spec.forward_s, chunks) +
         "\n";
}

StepLog Parse(const std::string& text) {
  Result<StepLog> log = ParseStepLog("log", text);
  EXPECT_TRUE(log) << log.error().ToString();
  return log ? std::move(*log) : StepLog();
}

std::string ParseError(const std::string& text) {
  const Result<StepLog> log = ParseStepLog("log", text);
  if (log) return "accepted";
  EXPECT_EQ(log.error().code(), ErrorCode::kInvalidArgument);
  return log.error().message();
}

/// `line` with the first `from` replaced.
std::string Changed(std::string line, std::string_view from, std::string_view to) {
  const size_t at = line.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return line.replace(at, from.size(), to);
}

TEST(StepLogReaderTest, ReadsEveryLineAndNumbersChunksDensely) {
  const StepLog log = Parse(Line({.chunks = 2}) + "\n" + Line({.step = 2, .policy = "single"}));
  EXPECT_EQ(log.tier_names, (std::vector<std::string>{"nvme", "pfs"}));
  EXPECT_EQ(log.policies, (std::vector<std::string>{"kvstream", "single"}));
  ASSERT_EQ(log.steps.size(), 2u);
  EXPECT_EQ(log.chunk_count, 100u);
  EXPECT_EQ(log.steps[0].chunks[1].id, 1u);
  EXPECT_EQ(log.steps[0].chunks[1].position, 1u);
  EXPECT_EQ(log.steps[0].chunks[1].bytes, kChunk);
  EXPECT_EQ(log.steps[0].chunks[1].holders, 3);
  EXPECT_EQ(log.steps[1].policy, 1u);
  EXPECT_EQ(log.steps[1].forward_s, 1);
  EXPECT_EQ(log.steps[1].retrieval_s, 25.5);
}

TEST(StepLogReaderTest, NamesFileAndLineOfWhatItRefuses) {
  const std::string good = Line({.chunks = 2});
  EXPECT_THAT(ParseError(""), HasSubstr("log: the step log has no lines"));
  EXPECT_THAT(ParseError("{}\n"), HasSubstr("log:1: field 'step' is missing"));
  EXPECT_THAT(ParseError(good + "[]\n"), HasSubstr("log:2: expected a JSON object"));
  EXPECT_THAT(ParseError(good + good.substr(0, good.size() / 2)),
              HasSubstr("log:2: not a complete"));
  EXPECT_THAT(ParseError(Changed(good, "\"step\":1", "\"step\":-1")), HasSubstr("'step'"));
  EXPECT_THAT(ParseError(Changed(good, "\"policy\":\"kvstream\"", "\"policy\":7")),
              HasSubstr("'policy' must be a text"));
  EXPECT_THAT(ParseError(Changed(good, "\"demand_bytes\":2000000", "\"demand_bytes\":2000001")),
              HasSubstr("the chunks have 2000000 bytes, 'demand_bytes' says 2000001"));
  EXPECT_THAT(ParseError(Changed(good, "\"id\":1001", "\"id\":1000")),
              HasSubstr("chunk 1000 is listed twice"));
  EXPECT_THAT(ParseError(Changed(good, "\"holders\":3", "\"holders\":4")), HasSubstr("'holders'"));
  EXPECT_THAT(ParseError(Changed(good, "\"staged\":false", "\"staged\":0")),
              HasSubstr("'staged' must be true or false"));
  EXPECT_THAT(ParseError(good + Changed(good, "\"name\":\"pfs\"", "\"name\":\"s3\"")),
              HasSubstr("log:2: other tiers than on the first line"));
  EXPECT_THAT(ParseError(Changed(good, "\"tiers\":[", "\"tiers\":[1,")),
              HasSubstr("'tiers' must be an array of objects"));
}

StepLogResults Replay(const StepLog& log, const StepLogOptions& options) {
  Result<StepLogResults> results = RunStepLog(log, options);
  EXPECT_TRUE(results) << results.error().ToString();
  return results ? std::move(*results) : StepLogResults();
}

StepLogOptions With(Policy policy, std::vector<double> shares = {}) {
  StepLogOptions options;
  options.storage.routing.policy = policy;
  options.storage.routing.shares = std::move(shares);
  return options;
}

/// 1 MB chunks at 3 and 1 MB/s, so that a piece takes a second at most.
TEST(StepLogRunTest, ReplaysEachStepWithTheBandwidthsItShowed) {
  const StepLog log = Parse(Line({.b0 = 3e6, .b1 = 1e6}) + Line({.step = 2, .b0 = 1e6, .b1 = 1e6}));
  const StepLogResults driven = Replay(log, With(Policy::kMeetInMiddle));
  ASSERT_EQ(driven.steps.size(), 2u);
  EXPECT_NEAR(driven.steps[0].storage.retrieval_s, 25, 1.01);
  // Near the end tier 1 still leaves chunks to the tier that was faster in the step before.
  EXPECT_NEAR(driven.steps[1].storage.retrieval_s, 50, 2.01);
  EXPECT_EQ(driven.logged_retrieval_s, 51);
  EXPECT_EQ(driven.assumed_steps, 0u);
  const StepLogResults fixed = Replay(log, With(Policy::kStaticPosition, {0.5, 0.5}));
  EXPECT_NEAR(fixed.steps[0].storage.retrieval_s, 50, 0.01);
  EXPECT_NEAR(fixed.steps[1].storage.retrieval_s, 50, 0.01);
  const StepLogResults single = Replay(log, With(Policy::kSingleTier));
  EXPECT_NEAR(single.retrieval_s, 100.0 / 3 + 100, 0.01);
}

TEST(StepLogRunTest, TiersThatDidNotReadHaveTheNearestBandwidthBefore) {
  const StepLog log = Parse(Line({.b0 = 2e6, .b1 = 0}) + Line({.step = 2, .b0 = 0, .b1 = 1e6}) +
                            Line({.step = 3, .b0 = 4e6, .b1 = 0}));
  StepLogOptions options = With(Policy::kSingleTier);
  const StepLogResults first = Replay(log, options);
  EXPECT_EQ(first.assumed_steps, 3u);
  EXPECT_NEAR(first.steps[1].storage.retrieval_s, 50, 0.01);
  EXPECT_NEAR(first.steps[2].storage.retrieval_s, 25, 0.01);
  options.storage.routing.tier = 1;
  EXPECT_NEAR(Replay(log, options).retrieval_s, 300, 0.01);
}

TEST(StepLogRunTest, TiersThatAPolicyDidNotUseHaveTheirMeanUnderTheOthers) {
  const StepLog log = Parse(Line({.policy = "single", .b0 = 2e6, .b1 = 0}) + Line({.b1 = 1e6}));
  EXPECT_NEAR(Replay(log, With(Policy::kMeetInMiddle)).retrieval_s, 100.0 / 3, 1.01);
}

TEST(StepLogRunTest, HoldersOfTheLogDecideWhoMayRead) {
  const StepLog log = Parse(Line({.holders = 2}));
  const StepLogResults results = Replay(log, With(Policy::kMeetInMiddle));
  EXPECT_NEAR(results.retrieval_s, 100, 0.01);
  EXPECT_EQ(results.steps[0].storage.tiers[0].read_bytes, 0u);
}

TEST(StepLogRunTest, ChunksThatNobodyHasAreMissedAndLeftOut) {
  std::string line = Line({});
  line = Changed(line, "\"holders\":3", "\"holders\":0");
  const StepLogResults results = Replay(Parse(line), With(Policy::kSingleTier));
  EXPECT_EQ(results.missed_chunks, 1u);
  EXPECT_NEAR(results.retrieval_s, 33, 0.01);
}

TEST(StepLogRunTest, GivenTiersTakeThePlaceOfTheLogged) {
  StepLogOptions options = With(Policy::kSingleTier);
  for (const char* name : {"a", "b"}) {
    TierModel tier;
    tier.name = name;
    tier.series.base = {.read = 10e6, .write = 10e6};
    options.tiers.push_back(tier);
  }
  EXPECT_NEAR(Replay(Parse(Line({.b0 = 0, .b1 = 0})), options).retrieval_s, 10, 0.01);
}

TEST(StepLogRunTest, WritePoliciesPlaceAChunkOnceAndCopyItWhenTheySay) {
  const StepLog log = Parse(Line({}) + Line({.step = 2}) + Line({.step = 3}));
  const auto run = [&](Replication replication) {
    StepLogOptions options = With(Policy::kMeetInMiddle);
    options.replay_writes = true;
    options.storage.write.replication = replication;
    options.storage.write.shares = {1, 0};
    return Replay(log, options);
  };
  const StepLogResults full = run(Replication::kFull);
  EXPECT_DOUBLE_EQ(full.totals.write_amplification(), 2);
  EXPECT_NEAR(full.steps[0].storage.retrieval_s, 25, 1.01);
  const StepLogResults reuse = run(Replication::kOnReuse);
  EXPECT_DOUBLE_EQ(reuse.totals.write_amplification(), 2);
  EXPECT_NEAR(reuse.steps[0].storage.retrieval_s, 100.0 / 3, 0.01);
  EXPECT_NEAR(reuse.steps[1].storage.retrieval_s, 25, 1.01);
  EXPECT_DOUBLE_EQ(run(Replication::kNone).totals.write_amplification(), 1);
}

TEST(StepLogRunTest, RefusesLogsThatCannotBeReplayed) {
  const auto error = [](const StepLog& log, const StepLogOptions& options) {
    const Result<StepLogResults> results = RunStepLog(log, options);
    if (results) return std::string("accepted");
    EXPECT_EQ(results.error().code(), ErrorCode::kInvalidArgument);
    return results.error().message();
  };
  StepLogOptions other = With(Policy::kSingleTier);
  other.logged_policy = "static";
  EXPECT_THAT(error(Parse(Line({})), other), HasSubstr("no policy 'static', only kvstream"));
  EXPECT_THAT(error(Parse(Line({.chunks = 0})), {}), HasSubstr("no lists of chunks"));
  EXPECT_THAT(error(Parse(Line({.b1 = 0})), {}), HasSubstr("tier 'pfs' did not read"));
  EXPECT_THAT(error(Parse(Line({.b1 = 10})), {}), HasSubstr("shows 10 bytes/s"));
  EXPECT_THAT(error(Parse(Line({.forward_s = 1e15})), {}), HasSubstr("more than 1e+09 s"));
  StepLogOptions one_tier;
  one_tier.tiers.resize(1);
  EXPECT_THAT(error(Parse(Line({})), one_tier), HasSubstr("2 tiers, 1 are given"));
}

TEST(StepLogRunTest, TheSameLogGivesTheSameHash) {
  const StepLog log = Parse(Line({}) + Line({.step = 2, .b0 = 2e6}));
  const StepLogOptions options = With(Policy::kMeetInMiddle);
  EXPECT_EQ(Replay(log, options).hash, Replay(log, options).hash);
  EXPECT_NE(Replay(log, options).hash, Replay(log, With(Policy::kRoundRobin)).hash);
}

}  // namespace
}  // namespace kvstream::sim
