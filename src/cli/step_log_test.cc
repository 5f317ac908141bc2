#include "cli/step_log.h"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace kvstream::cli {
namespace {

TEST(StepLogTest, ALineHasWhatAnotherPolicyNeedsToReplayTheStep) {
  ReadSample sample;
  sample.retrieval = std::chrono::milliseconds(1500);
  sample.twice_bytes = 5;
  sample.tiers = {{.bytes = 600, .chunks = 2, .busy = std::chrono::seconds(1)}, {}};
  const std::vector<StepChunk> chunks = {{17, 0}, {18, 1}};
  std::vector<LookupResult> holders(2);
  holders[0].tiers = 0b11;
  holders[1].tiers = 0b01;
  holders[1].staged = true;
  StepRecord record;
  record.step = 3;
  record.policy = "kvstream";
  record.bound_s = std::numeric_limits<double>::infinity();
  record.demand_bytes = 600;
  record.chunk_bytes = 300;
  record.sample = &sample;
  record.chunks = chunks;
  record.holders = holders;

  const std::vector<std::string> tiers = {"nv\"me", "pfs"};
  const std::string line = StepRecordLine(record, tiers);
  ASSERT_EQ(line.find('\n'), line.size() - 1);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["step"], 3);
  EXPECT_EQ(json["retrieval_s"], 1.5);
  EXPECT_TRUE(json["bound_s"].is_null()) << "JSON has no infinity";
  EXPECT_EQ(json["read_twice_bytes"], 5);
  EXPECT_EQ(json["tiers"][0]["name"], "nv\"me");
  EXPECT_EQ(json["tiers"][0]["read_busy_s"], 1.0);
  EXPECT_EQ(json["chunks"][1]["bytes"], 300);
  EXPECT_EQ(json["chunks"][1]["position"], 1);
  EXPECT_EQ(json["chunks"][1]["holders"], 1);
  EXPECT_EQ(json["chunks"][1]["staged"], true);
}

}  // namespace
}  // namespace kvstream::cli
