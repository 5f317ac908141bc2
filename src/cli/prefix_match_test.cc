#include "cli/prefix_match.h"

#include <map>

#include <gtest/gtest.h>

namespace kvstream::cli {
namespace {

// Request 0: chunks 0 1 2 3. Request 1 continues it after two chunks: 0 1 4 5. Request 2: 6 7.
// All prompts have 10 tokens more than their chunks of 4.
class PrefixMatchTest : public ::testing::Test {
 protected:
  PrefixMatchTest() {
    trace_.chunk_tokens = 4;
    trace_.chunk_count = 8;
    trace_.runs = {
        {trace::ChunkRun::kNoParent, 0, 0}, {0, 2, 4}, {trace::ChunkRun::kNoParent, 0, 6}};
    for (const auto& [chunks, run] : {std::pair{4u, 0u}, {4u, 1u}, {2u, 2u}}) {
      trace::Request request;
      request.chunk_count = chunks;
      request.input_tokens = chunks * 4 + 3;
      request.run = run;
      trace_.requests.push_back(request);
    }
  }

  StepDemand Match(MatchOptions options) {
    return MatchPrefixes(trace_, options, [this](uint64_t id) {
      const auto found = places_.find(id);
      return found == places_.end() ? ChunkPlace::kNowhere : found->second;
    });
  }

  static std::vector<uint64_t> Ids(const std::vector<StepChunk>& chunks) {
    std::vector<uint64_t> ids;
    for (const StepChunk& chunk : chunks) ids.push_back(chunk.id);
    return ids;
  }

  trace::RequestTrace trace_;
  std::map<uint64_t, ChunkPlace> places_;
};

TEST_F(PrefixMatchTest, WithNothingStoredEverythingIsWrittenOnce) {
  const StepDemand demand = Match({.begin = 0, .end = 3});
  EXPECT_EQ(demand.end, 3u);
  EXPECT_TRUE(demand.reads.empty());
  EXPECT_EQ(Ids(demand.writes), (std::vector<uint64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(demand.missed_chunks, 10u);
  ASSERT_EQ(demand.work.size(), 3u);
  EXPECT_EQ(demand.work[0].new_tokens, 19u);
  EXPECT_EQ(demand.work[0].context_tokens, 0u);
}

TEST_F(PrefixMatchTest, AMissInTheMiddleEndsTheMatch) {
  places_ = {{0, ChunkPlace::kStorage}, {2, ChunkPlace::kStorage}, {3, ChunkPlace::kHost}};
  const StepDemand demand = Match({.begin = 0, .end = 1});
  EXPECT_EQ(Ids(demand.reads), (std::vector<uint64_t>{0}));
  EXPECT_EQ(Ids(demand.writes), (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(demand.work[0].context_tokens, 4u);
  EXPECT_EQ(demand.work[0].new_tokens, 15u);
}

TEST_F(PrefixMatchTest, SharedChunksAreReadOnceAndCountForBoth) {
  for (uint64_t id = 0; id < 6; ++id) places_[id] = ChunkPlace::kStorage;
  places_[1] = ChunkPlace::kHost;
  const StepDemand demand = Match({.begin = 0, .end = 2});
  EXPECT_EQ(Ids(demand.reads), (std::vector<uint64_t>{0, 2, 3, 4, 5}));
  EXPECT_EQ(demand.reads[1].position, 2u);
  EXPECT_EQ(demand.reads[3].position, 2u);
  EXPECT_EQ(demand.host_chunks, 2u);
  EXPECT_EQ(demand.storage_chunks, 6u);
  EXPECT_EQ(demand.missed_chunks, 0u);
  EXPECT_EQ(demand.work[1].new_tokens, 3u);
}

TEST_F(PrefixMatchTest, AFullyMatchedPromptComputesOneToken) {
  trace_.requests[2].input_tokens = 8;
  places_ = {{6, ChunkPlace::kHost}, {7, ChunkPlace::kHost}};
  const StepDemand demand = Match({.begin = 2, .end = 3});
  EXPECT_EQ(demand.work[0].new_tokens, 1u);
  EXPECT_EQ(demand.work[0].context_tokens, 7u);
}

TEST_F(PrefixMatchTest, EndsBeforeTheRequestThatWouldNotFitButTakesOne) {
  for (uint64_t id = 0; id < 8; ++id) places_[id] = ChunkPlace::kStorage;
  EXPECT_EQ(Match({.begin = 0, .end = 3, .reads_max = 6}).end, 2u);
  EXPECT_EQ(Match({.begin = 0, .end = 3, .reads_max = 5}).end, 1u);
  const StepDemand oversized = Match({.begin = 0, .end = 3, .reads_max = 1});
  EXPECT_EQ(oversized.end, 1u);
  EXPECT_EQ(oversized.reads.size(), 4u);
}

}  // namespace
}  // namespace kvstream::cli
