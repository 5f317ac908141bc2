#include "kvsim/verdict.h"

#include <vector>

#include <gtest/gtest.h>

namespace kvstream::kvsim {
namespace {

PolicyRun MakeRun(std::string label, std::vector<std::string> tiers, double ttft_s) {
  PolicyRun run;
  run.policy.label = std::move(label);
  run.policy.has_storage = !tiers.empty();
  run.tier_names = std::move(tiers);
  sim::Summary& summary = run.results.summary;
  summary.ttft_s.mean = ttft_s;
  summary.requests_per_s = 1;
  summary.demand_bytes = 1000;
  summary.utilisation = 0.5;
  summary.write_amplification = 2;
  summary.time = {.retrieval_s = 30, .forward_s = 10, .write_wait_s = 0, .decode_s = 60};
  summary.retrieval_share = 0.75;
  summary.dominant = "decode";
  return run;
}

std::vector<PolicyRun> MakeRuns(double ttft_alone, double ttft_together) {
  std::vector<PolicyRun> runs;
  runs.push_back(MakeRun("none", {}, 9));
  runs.push_back(MakeRun("serial", {"nvme"}, 5));
  runs.back().policy.storage.serial = true;
  runs.push_back(MakeRun("single", {"nvme"}, ttft_alone));
  runs.push_back(MakeRun("kvstream", {"nvme", "pfs"}, ttft_together));
  runs.back().results.summary.time.retrieval_s = 15;
  return runs;
}

TEST(VerdictTest, ComparesTheBatchedRunOfOneTierWithTheRunOfSeveral) {
  const auto verdict = Judge(MakeRuns(2, 1.5), true);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->alone, "single");
  EXPECT_EQ(verdict->together, "kvstream");
  EXPECT_EQ(verdict->metric, "mean TTFT");
  EXPECT_DOUBLE_EQ(verdict->gain, 0.25);
  EXPECT_DOUBLE_EQ(verdict->retrieval_saving, 0.5);
  EXPECT_EQ(verdict->answer, "yes");
  EXPECT_EQ(verdict->text.find("Does pfs pay as a second tier beside nvme? Yes: "), 0u)
      << verdict->text;
  EXPECT_NE(verdict->text.find("Writes stay hidden"), std::string::npos) << verdict->text;
}

TEST(VerdictTest, AnswersByHowMuchIsGained) {
  EXPECT_EQ(Judge(MakeRuns(2, 1.94), true)->answer, "a little");
  EXPECT_EQ(Judge(MakeRuns(2, 2.001), true)->answer, "no");
  EXPECT_EQ(Judge(MakeRuns(2, 2.2), true)->answer, "it loses");
}

TEST(VerdictTest, ThroughputDecidesOfflineAndWhereTheNodesCannotKeepUp) {
  std::vector<PolicyRun> runs = MakeRuns(2, 1);
  runs[3].results.summary.requests_per_s = 1.5;
  EXPECT_EQ(Judge(runs, false)->metric, "throughput");
  EXPECT_DOUBLE_EQ(Judge(runs, false)->gain, 0.5);
  runs[2].results.summary.utilisation = 0.99;
  const auto verdict = Judge(runs, true);
  EXPECT_TRUE(verdict->saturated);
  EXPECT_EQ(verdict->metric, "throughput");
  EXPECT_NE(verdict->text.find("busy 99 % of the time"), std::string::npos) << verdict->text;
}

TEST(VerdictTest, SaysWhenWritesAreWaitedForAndWhenNothingIsRead) {
  std::vector<PolicyRun> runs = MakeRuns(2, 1);
  runs[3].results.summary.time.write_wait_s = 25;
  EXPECT_NE(Judge(runs, true)->text.find("wait 50 % of their time for writes"), std::string::npos);
  runs[2].results.summary.demand_bytes = 0;
  EXPECT_NE(Judge(runs, true)->text.find("Nothing is read from storage"), std::string::npos);
}

TEST(VerdictTest, NeedsBothKindsOfRuns) {
  std::vector<PolicyRun> runs = MakeRuns(2, 1);
  runs.pop_back();
  EXPECT_FALSE(Judge(runs, true));
}

TEST(VerdictTest, TheTimeOfARunIsSharedOutInPercent) {
  const std::string text = DescribeTime(MakeRuns(2, 1)[2]);
  EXPECT_EQ(text.find("single: retrieval is 75 % of the prefill steps. Most time goes to decode"),
            0u)
      << text;
  EXPECT_NE(text.find("decode 60 %"), std::string::npos) << text;
}

}  // namespace
}  // namespace kvstream::kvsim
