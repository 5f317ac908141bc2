#include "core/read_scheduler.h"

#include <algorithm>

#include "core/core_test_util.h"

namespace kvstream::core {
namespace {

class ReadSchedulerTest : public CoreTestBase {
 protected:
  /// The chunk events so far.
  std::vector<Event> ChunkEvents() {
    std::vector<Event> events = core_->TakeEvents();
    std::erase_if(events, [](const Event& e) { return e.kind != Event::Kind::kChunkRead; });
    return events;
  }

  std::vector<ReadOp> TakeAll(uint32_t tier) {
    std::vector<ReadOp> ops;
    for (ReadOp op; NextRead(tier, &op);) ops.push_back(op);
    return ops;
  }

  /// Tier 1 takes its first pieces of a large chunk and keeps them; tier 0 reads all the rest, one
  /// piece a millisecond. Returns what tier 1 has.
  std::vector<ReadOp> ReadAllButTheLast(uint64_t number, uint32_t blocks) {
    Read(number, blocks);
    std::vector<ReadOp> kept = TakeAll(1);
    const auto is_kept = [&](const ReadOp& op) {
      return std::ranges::find(kept, op.first_block, &ReadOp::first_block) != kept.end();
    };
    std::vector<ReadOp> ops = TakeAll(0);
    while (!ops.empty() && late_.empty()) {
      now_ += milliseconds(1);
      EXPECT_TRUE(Deliver(ops.front()));
      ops.erase(ops.begin());
      for (const ReadOp& op : TakeAll(0)) (is_kept(op) ? late_ : ops).push_back(op);
    }
    return kept;
  }

  std::vector<ReadOp> late_;  // pieces of tier 1 that tier 0 reads as well
};

TEST_F(ReadSchedulerTest, DeliversAChunkWhenAllItsBlocksHaveLanded) {
  Open(1, false);
  Find(1, 3, 1);
  Read(1, 3);
  const std::vector<ReadOp> ops = TakeAll(0);
  for (const ReadOp& op : ops) {
    EXPECT_TRUE(ChunkEvents().empty());
    EXPECT_TRUE(Deliver(op));
  }
  const std::vector<Event> events = ChunkEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(events[0].ok);
  EXPECT_EQ(events[0].tiers, 1);
}

TEST_F(ReadSchedulerTest, ReadsALatePieceAgainOnTheIdleTier) {
  Open(2, true);
  Find(1, 60, 3);
  const std::vector<ReadOp> kept = ReadAllButTheLast(1, 60);
  ASSERT_FALSE(kept.empty());
  ASSERT_FALSE(late_.empty());
  EXPECT_EQ(late_[0].meta->key, kept[0].meta->key);
}

TEST_F(ReadSchedulerTest, CountsTheBytesOfTheLoserAsReadTwice) {
  Open(2, true);
  Find(1, 60, 3);
  const std::vector<ReadOp> kept = ReadAllButTheLast(1, 60);
  ASSERT_FALSE(late_.empty());
  EXPECT_TRUE(Deliver(late_[0]));
  const auto loser = std::ranges::find(kept, late_[0].first_block, &ReadOp::first_block);
  ASSERT_NE(loser, kept.end());
  EXPECT_FALSE(Deliver(*loser));
  EXPECT_EQ(GetStats().bytes_read_twice, uint64_t{loser->block_count} * kTestBlockBytes);
}

TEST_F(ReadSchedulerTest, LetsTheOwnerWinAsWell) {
  Open(2, true);
  Find(1, 60, 3);
  const std::vector<ReadOp> kept = ReadAllButTheLast(1, 60);
  ASSERT_FALSE(late_.empty());
  const auto owner = std::ranges::find(kept, late_[0].first_block, &ReadOp::first_block);
  ASSERT_NE(owner, kept.end());
  EXPECT_TRUE(Deliver(*owner));
  EXPECT_FALSE(Deliver(late_[0]));
}

TEST_F(ReadSchedulerTest, TakesBackWhatHangsInEngineMemory) {
  options_.hang_after = milliseconds(50);
  Open(2, true);
  Find(1, 4, 3);
  Read(1, 4);
  const std::vector<ReadOp> hung = TakeAll(1);
  ASSERT_FALSE(hung.empty());
  for (const ReadOp& op : TakeAll(0)) Deliver(op);
  Pass(milliseconds(50));
  EXPECT_FALSE(GetStats().tiers[1].up);
  EXPECT_GT(GetStats().tiers[1].quarantined_bytes, 0u);
  for (std::vector<ReadOp> ops = TakeAll(0); !ops.empty(); ops = TakeAll(0)) {
    for (const ReadOp& op : ops) EXPECT_TRUE(Deliver(op));
  }
  const std::vector<Event> events = ChunkEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(events[0].ok);
  for (const ReadOp& op : hung) EXPECT_FALSE(Deliver(op));  // late, and nobody's any more
  EXPECT_EQ(GetStats().tiers[1].quarantined_bytes, 0u);
}

TEST_F(ReadSchedulerTest, EndsABouncedReadAtItsDeadline) {
  Open(1, true);
  Find(1, 1, 1);
  Read(1, 1, now_ + milliseconds(5));
  const std::vector<ReadOp> ops = TakeAll(0);
  ASSERT_EQ(ops.size(), 1u);
  Pass(milliseconds(5));
  const std::vector<Event> events = ChunkEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].miss, MissReason::kDeadline);
  EXPECT_EQ(core_->BeginLanding(ops[0].id), nullptr);
}

TEST_F(ReadSchedulerTest, WaitsForADirectReadBeyondItsDeadline) {
  Open(1, false);
  Find(1, 4, 1);
  const JobId job = Read(1, 4, now_ + milliseconds(5));
  ReadOp op;
  ASSERT_TRUE(NextRead(0, &op));
  ASSERT_FALSE(op.bounce);
  Pass(milliseconds(5));
  EXPECT_TRUE(ChunkEvents().empty());
  ASSERT_EQ(core_->Unreleased().size(), 1u);
  EXPECT_EQ(core_->Unreleased()[0].job, job);
  // Its deadline is no reason to tick again, or time would stand still.
  EXPECT_GT(core_->NextTick(now_), now_);
  Finish(op, ReadOutcome::kDelivered);
  const std::vector<Event> events = ChunkEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].miss, MissReason::kDeadline);
  EXPECT_TRUE(core_->Unreleased().empty());
}

TEST_F(ReadSchedulerTest, CancelsAJobWithPiecesReadPiecesInFlightAndPiecesUnread) {
  Open(2, false);
  Find(1, 16, 3);
  const JobId job = Read(1, 16);
  std::vector<ReadOp> in_flight(2);
  ASSERT_TRUE(NextRead(0, &in_flight[0]));
  Deliver(in_flight[0]);
  ASSERT_TRUE(NextRead(0, &in_flight[0]));
  ASSERT_TRUE(NextRead(1, &in_flight[1]));
  core_->Cancel(job, now_);
  ReadOp op;
  EXPECT_FALSE(NextRead(0, &op));
  Finish(in_flight[0], ReadOutcome::kFailed);
  EXPECT_EQ(core_->HasJob(job), !in_flight[1].bounce);
  Deliver(in_flight[1]);
  EXPECT_FALSE(core_->HasJob(job));
  EXPECT_EQ(core_->LastEvent(job)->kind, Event::Kind::kReadDone);
}

TEST_F(ReadSchedulerTest, CancelsAChunkWhoseCopyFromTheStageHasNotBegun) {
  Open(1, false);
  Write(1, 1);
  const JobId job = Read(1, 1);
  core_->Cancel(job, now_);
  MemoryOp op;
  ASSERT_TRUE(core_->NextMemoryOp(&op));
  core_->FinishMemoryOp(op, true, now_);
  ASSERT_EQ(ChunkEvents().size(), 1u);
}

TEST_F(ReadSchedulerTest, EndsAJobByTheErrorThatSetsItsTierAside) {
  Open(1, true);
  for (uint64_t number = 1; number <= 3; ++number) {
    Find(number, 1, 1);
    Read(number, 1);
  }
  const std::vector<ReadOp> ops = TakeAll(0);
  ASSERT_EQ(ops.size(), 3u);
  for (const ReadOp& op : ops) Finish(op, ReadOutcome::kFailed);
  EXPECT_EQ(ChunkEvents().size(), 3u);
  EXPECT_FALSE(GetStats().tiers[0].up);
}

TEST_F(ReadSchedulerTest, MissesAtOnceWhatOnlyATierSetAsideHolds) {
  Open(1, true);
  Find(1, 12, 1);
  Read(1, 12);
  Read(1, 12);
  Read(1, 12);
  // The first errors lose the jobs they belong to; the last one takes the tier away from the rest.
  for (std::vector<ReadOp> ops = TakeAll(0); !ops.empty(); ops = TakeAll(0)) {
    for (const ReadOp& op : ops) Finish(op, ReadOutcome::kFailed);
  }
  EXPECT_EQ(ChunkEvents().size(), 3u);
  EXPECT_TRUE(core_->idle());
}

TEST_F(ReadSchedulerTest, WakesWhoKeepsTheTimeForAnOperationThatMayHang) {
  options_.hang_after = milliseconds(50);
  Open(1, true);
  Find(1, 1, 1);
  Read(1, 1);
  core_->TakeWake();
  EXPECT_EQ(core_->NextTick(now_), kNoDeadline);
  ASSERT_EQ(TakeAll(0).size(), 1u);
  EXPECT_TRUE(core_->TakeWake().memory);
  EXPECT_EQ(core_->NextTick(now_), now_ + milliseconds(50));
}

TEST_F(ReadSchedulerTest, KeepsANewerFileUnderTheNameOfAReplacedCopy) {
  Open(1, true);
  Find(1, 1, 1);
  Read(1, 1);
  const std::vector<ReadOp> ops = TakeAll(0);
  ASSERT_EQ(ops.size(), 1u);
  core_->FinishRead(ops[0].id, {ReadOutcome::kReplaced, 0, TestMeta(1, 1, 2)}, now_);
  for (const ReadOp& op : TakeAll(0)) EXPECT_TRUE(Deliver(op));
  const std::vector<Event> events = ChunkEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(events[0].ok);
  Pass(std::chrono::seconds(1));
  WriteOp op;
  EXPECT_FALSE(NextWrite(0, &op));  // nothing to unlink
  EXPECT_EQ(core_->index().used_bytes(0), 0u);
}

}  // namespace
}  // namespace kvstream::core
