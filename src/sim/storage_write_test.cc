// Writes of NodeStorage: staging, deferral, backpressure, eviction and the policies' later copies.

#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "sim/node_storage.h"
#include "sim/storage_test_util.h"

namespace kvstream::sim {
namespace {

constexpr uint64_t kChunk = 16 * kMiB;
constexpr double kChunkGbSeconds = kChunk / kGb;  // one chunk at 1 GB/s

std::vector<TierModel> TwoTiers(double b0 = 3, double b1 = 1) {
  return {MakeTier("t0", b0, b0), MakeTier("t1", b1, b1)};
}

StorageOptions With(Replication replication) {
  StorageOptions options;
  options.write.replication = replication;
  options.write.stage_bytes = 100 * kGiB;
  return options;
}

TEST(StorageWriteTest, DeferredWritesLeaveTheReadsAlone) {
  StorageRig rig(TwoTiers(), With(Replication::kFull));
  const auto stored = rig.Preload(200, kChunk, 0b11);
  const double quiet = rig.Read(stored).retrieval_s;
  EXPECT_EQ(rig.Write(rig.MakeChunks(50, kChunk)), 0);
  const StepStorage step = rig.Read(stored);
  EXPECT_NEAR(step.retrieval_s / quiet, 1, 0.01);
  EXPECT_EQ(step.tiers[0].written_bytes, 0u);
  EXPECT_EQ(step.new_bytes, 50 * kChunk);
  EXPECT_EQ(step.staged_bytes, 50 * kChunk);
  // As long as the slower tier needs, and a piece of the reads that it may still have under way.
  rig.Forward(52 * kChunkGbSeconds);
  EXPECT_TRUE(rig.storage().idle());
  EXPECT_EQ(rig.storage().totals().tiers[1].activity.written_bytes, 50 * kChunk);
}

TEST(StorageWriteTest, ImmediateWritesRunAgainstTheReads) {
  StorageOptions options = With(Replication::kFull);
  options.write.timing = WriteTiming::kImmediate;
  StorageRig rig(TwoTiers(), options);
  const auto stored = rig.Preload(200, kChunk, 0b11);
  const double quiet = rig.Read(stored).retrieval_s;
  rig.Write(rig.MakeChunks(50, kChunk));
  const StepStorage step = rig.Read(stored);
  EXPECT_GT(step.retrieval_s, 1.2 * quiet);
  EXPECT_GT(step.tiers[0].written_bytes, 0u);
}

TEST(StorageWriteTest, AFlushThatOutlastsTheForwardPassMeetsTheNextReads) {
  StorageRig rig(TwoTiers(), With(Replication::kFull));
  const auto stored = rig.Preload(200, kChunk, 0b11);
  const double quiet = rig.Read(stored).retrieval_s;
  rig.Write(rig.MakeChunks(100, kChunk));
  rig.Forward(0.01);
  EXPECT_GT(rig.Read(stored).retrieval_s, 1.1 * quiet);
}

TEST(StorageWriteTest, AFullStageMakesTheStepWaitForTheSlowestTier) {
  StorageOptions options = With(Replication::kFull);
  options.write.stage_bytes = 10 * kChunk;
  StorageRig rig(TwoTiers(), options);
  // The 30th is staged when the 20th is written.
  EXPECT_NEAR(rig.Write(rig.MakeChunks(30, kChunk)), 20 * kChunkGbSeconds, 1e-6);
  EXPECT_NEAR(rig.Read({}).write_wait_s, 20 * kChunkGbSeconds, 1e-6);
  rig.Drain();
  EXPECT_EQ(rig.storage().totals().staged_bytes_max, 10 * kChunk);
  EXPECT_EQ(rig.storage().totals().tiers[0].dropped_bytes, 0u);
  EXPECT_DOUBLE_EQ(rig.storage().totals().write_amplification(), 2);
}

TEST(StorageWriteTest, AStageThatDropsNeverWaits) {
  StorageOptions options = With(Replication::kFull);
  options.write.stage_bytes = 10 * kChunk;
  options.write.full = StageFull::kDrop;
  StorageRig rig(TwoTiers(), options);
  EXPECT_EQ(rig.Write(rig.MakeChunks(30, kChunk)), 0);
  EXPECT_EQ(rig.Read({}).dropped_bytes, 2 * 20 * kChunk);
  rig.Drain();
  EXPECT_EQ(rig.storage().totals().tiers[1].activity.written_bytes, 10 * kChunk);
}

TEST(StorageWriteTest, AChunkThatCanNeverFitIsDroppedAndNotWaitedFor) {
  StorageOptions options = With(Replication::kFull);
  options.write.stage_bytes = kChunk / 2;
  StorageRig rig(TwoTiers(), options);
  EXPECT_EQ(rig.Write(rig.MakeChunks(3, kChunk)), 0);
  rig.Drain();
  EXPECT_EQ(rig.storage().totals().tiers[0].dropped_bytes, 3 * kChunk);
}

TEST(StorageWriteTest, StagedChunksAreReadFromTheStage) {
  StorageRig rig(TwoTiers(), With(Replication::kFull));
  const auto fresh = rig.MakeChunks(20, kChunk);
  rig.Write(fresh);
  EXPECT_TRUE(rig.storage().Staged(fresh[3].id));
  EXPECT_EQ(rig.storage().Holders(fresh[3].id), 0);
  const StepStorage step = rig.Read(fresh);
  EXPECT_EQ(step.staged_hit_bytes, 20 * kChunk);
  EXPECT_EQ(step.tiers[0].read_bytes + step.tiers[1].read_bytes, 0u);
  EXPECT_LT(step.retrieval_s, 1e-6);
}

TEST(StorageWriteTest, WhatATierHasIsNotWrittenAgainAndALostCopyIs) {
  StorageRig rig(TwoTiers(), With(Replication::kFull));
  const auto chunks = rig.Preload(10, kChunk, 0b11);
  ASSERT_TRUE(rig.storage().SetHolders(chunks[4], 0b01));
  rig.Write(chunks);
  rig.Drain();
  EXPECT_EQ(rig.storage().totals().tiers[0].activity.written_bytes, 0u);
  EXPECT_EQ(rig.storage().totals().tiers[1].activity.written_bytes, kChunk);
  EXPECT_EQ(rig.storage().totals().new_bytes, 0u);
}

TEST(StorageWriteTest, ASecondCopyIsWrittenWhenAChunkIsReadForTheFirstTime) {
  StorageOptions options = With(Replication::kOnReuse);
  options.write.shares = {1, 0};
  StorageRig rig(TwoTiers(), options);
  const auto chunks = rig.MakeChunks(40, kChunk);
  rig.Write(chunks);
  rig.Drain();
  EXPECT_DOUBLE_EQ(rig.storage().totals().write_amplification(), 1);
  const double once = rig.Read(std::span(chunks).first(10)).retrieval_s;
  rig.Drain();
  EXPECT_DOUBLE_EQ(rig.storage().totals().write_amplification(), 1.25);
  EXPECT_LT(rig.Read(std::span(chunks).first(10)).retrieval_s, 0.85 * once);
  rig.Drain();
  EXPECT_DOUBLE_EQ(rig.storage().totals().write_amplification(), 1.25) << "copied again";
  for (const StorageChunk& chunk : chunks) {
    EXPECT_EQ(rig.storage().Holders(chunk.id), chunk.position < 10 ? 0b11 : 0b01);
  }
}

TEST(StorageWriteTest, ReplicateWhenSlowCopiesWhatItReadFromATierThatTurnedSlow) {
  StorageOptions options = With(Replication::kWhenSlow);
  options.write.shares = {3, 1};
  std::vector<TierModel> tiers = TwoTiers(3, 1);
  tiers[1].series.shape = PointsShape{{{0, {1 * kGb, 1 * kGb}}, {5, {0.4 * kGb, 1 * kGb}}}};
  StorageRig rig(tiers, options);
  const auto chunks = rig.MakeChunks(100, kChunk);
  rig.Write(chunks);
  rig.Drain();
  rig.Read(chunks);
  rig.Drain();
  EXPECT_DOUBLE_EQ(rig.storage().totals().write_amplification(), 1);
  rig.queue().RunUntil(TimePoint(std::chrono::seconds(6)));
  EXPECT_GT(rig.Read(chunks).gap(), 0.3);
  rig.Drain();
  EXPECT_DOUBLE_EQ(rig.storage().totals().write_amplification(), 1.25) << "the slow tier's quarter";
  EXPECT_LT(rig.Read(chunks).gap(), 0.02);
}

TEST(StorageWriteTest, EveryPolicyConservesBytesInRandomRuns) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    base::Prng prng(seed);
    StorageOptions options = With(static_cast<Replication>(prng.Below(5)));
    options.write.stage_bytes = (2 + prng.Below(40)) * kChunk;
    options.write.full = prng.Chance(0.5) ? StageFull::kWait : StageFull::kDrop;
    options.write.timing = prng.Chance(0.3) ? WriteTiming::kImmediate : WriteTiming::kDeferred;
    options.routing.policy = static_cast<Policy>(prng.Below(5));
    options.serial = prng.Chance(0.2);
    std::vector<TierModel> tiers = TwoTiers(3, 0.3 + prng.Uniform());
    for (TierModel& tier : tiers) {
      tier.capacity_bytes = (30 + prng.Below(200)) * kChunk;
      tier.latency = {.median_s = 0.001, .sigma = 1, .tail_probability = 0.02, .tail_factor = 100};
      tier.series.shape = LognormalShape{.step_s = 0.05, .sigma = 0.5, .correlation = 0.5};
      tier.interference = 0.3;
    }
    StorageRig rig(tiers, options, seed);
    std::vector<StorageChunk> known;
    for (int round = 0; round < 25; ++round) {
      const auto fresh = rig.MakeChunks(1 + static_cast<uint32_t>(prng.Below(20)), kChunk);
      known.insert(known.end(), fresh.begin(), fresh.end());
      rig.Write(fresh);
      std::vector<StorageChunk> wanted;
      for (const StorageChunk& chunk : known) {
        if (prng.Chance(0.3) && rig.storage().Stored(chunk.id)) wanted.push_back(chunk);
      }
      rig.Read(wanted);
      rig.Forward(0.2 * prng.Uniform());
    }
    rig.Drain();
    EXPECT_GT(rig.storage().totals().demand_bytes, 0u);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(StorageWriteTest, NodesThatShareATierEachReadWhatTheyGet) {
  constexpr uint32_t kNodes = 4;
  std::vector<TierModel> tiers = TwoTiers(2, 2);
  tiers[1].shared = true;
  tiers[1].total = {.read = 4 * kGb, .write = 4 * kGb};
  struct Reader final : StorageListener {
    void OnStepRead(const StepStorage& read) override { step = read; }
    void OnWriteAccepted() override {}
    StepStorage step;
  };
  EventQueue queue;
  const DeviceSet devices(tiers, kNodes, 1, 1, queue);
  std::vector<Reader> readers(kNodes);
  std::vector<std::unique_ptr<NodeStorage>> nodes;
  std::vector<StorageChunk> chunks;
  for (uint32_t id = 0; id < 400; ++id) {
    chunks.push_back({.id = id, .position = id, .prefix_chunks = 400, .bytes = kChunk});
  }
  for (uint32_t node = 0; node < kNodes; ++node) {
    nodes.push_back(
        std::make_unique<NodeStorage>(devices, node, StorageOptions(), queue, readers[node]));
    for (const StorageChunk& chunk : chunks) {
      ASSERT_TRUE(nodes.back()->SetHolders(chunk, 0b11));
    }
  }
  for (const auto& node : nodes) node->SubmitStep({.chunks = chunks});
  while (queue.RunNext()) {
  }
  for (uint32_t node = 0; node < kNodes; ++node) {
    const StepStorage& step = readers[node].step;
    // Its own 2 GB/s and a fourth of the 4 GB/s.
    EXPECT_NEAR(step.retrieval_s / (400.0 * kChunk / (3 * kGb)), 1, 0.01) << "node " << node;
    EXPECT_NEAR(static_cast<double>(step.tiers[1].read_bytes) / (400.0 * kChunk), 1.0 / 3, 0.01);
  }
}

}  // namespace
}  // namespace kvstream::sim
