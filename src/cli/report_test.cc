#include "cli/report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace kvstream::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ReportTest : public ::testing::Test {
 protected:
  ReportTest() {
    ReadSample sample;
    sample.retrieval = milliseconds(1010);
    sample.delivered_bytes = 900 * kMiB;
    sample.tiers = {{.bytes = 600 * kMiB, .chunks = 6, .busy = seconds(1)},
                    {.bytes = 300 * kMiB, .chunks = 3, .busy = milliseconds(505)}};
    policies_.emplace_back(PolicyArg{"kvstream", {}}, 2);
    policies_[0].Add(sample, {1.0, 1});
  }

  std::vector<PolicyTotals> policies_;
  const std::vector<std::string> tiers_ = {"nvme", "pfs"};
};

TEST_F(ReportTest, TheTableHasAColumnPerPolicyAndTheFiguresOfEachTier) {
  policies_.emplace_back(PolicyArg{"single", {}}, 2);
  const std::string table = PolicyTable(policies_, tiers_);
  EXPECT_NE(table.find("single"), std::string::npos);
  EXPECT_NE(table.find(" 1.00 % "), std::string::npos) << table;
  EXPECT_NE(table.find("66.67 %"), std::string::npos) << table;
  EXPECT_NE(table.find("(50.00 %)"), std::string::npos) << table;
  EXPECT_EQ(table.find("wait"), std::string::npos) << "no waits were measured";
  policies_[0].waits_s = {1, 2, 3};
  EXPECT_NE(PolicyTable(policies_, tiers_).find("wait, p99"), std::string::npos);
}

TEST_F(ReportTest, TheJsonHasTheSameFiguresInBytesAndSeconds) {
  policies_[0].waits_s = {1, 2, 3};
  const nlohmann::json json = PolicyJson(policies_, tiers_);
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["bytes"], 900 * kMiB);
  EXPECT_NEAR(json[0]["gap"].get<double>(), 0.01, 1e-9);
  EXPECT_EQ(json[0]["steps_with_assumed_bandwidth"], 1);
  EXPECT_EQ(json[0]["tiers"][1]["name"], "pfs");
  EXPECT_EQ(json[0]["wait_s"]["p99"], 3);
}

TEST_F(ReportTest, DropsAndFlushesAreNamedByReason) {
  Stats stats;
  stats.dropped_chunks[static_cast<size_t>(DropReason::kReplaced)] = 7;
  stats.flushed_bytes[static_cast<size_t>(FlushReason::kExplicit)] = 9;
  stats.tiers.resize(1);
  stats.tiers[0].name = "nvme";
  stats.tiers[0].dropped_copies[static_cast<size_t>(DropReason::kAge)] = 3;
  const nlohmann::json json = EngineJson(stats);
  EXPECT_EQ(json["dropped_chunks"]["replaced"], 7);
  EXPECT_EQ(json["flushed_bytes"]["explicit"], 9);
  EXPECT_EQ(json["tiers"][0]["dropped_copies"]["age"], 3);
  EXPECT_NE(EngineTable(stats).find("7 dropped without a copy"), std::string::npos);
}

}  // namespace
}  // namespace kvstream::cli
