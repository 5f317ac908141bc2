#include "core/stager.h"

#include <algorithm>
#include <cerrno>

#include "core/core_test_util.h"

namespace kvstream::core {
namespace {

class StagerTest : public CoreTestBase {
 protected:
  void SetUp() override {
    options_.write.idle_delay = milliseconds(10);
    options_.write.age_max = milliseconds(100);
    Open(1, false);
    Find(1, 1, 1);
  }

  void OpenARead() { Read(1, 1); }

  /// One after the other; what is left of each is removed without an error.
  void FailThreeWrites() {
    for (uint64_t number = 2; number < 5; ++number) {
      Write(number, 1);
      WriteOp op;
      ASSERT_TRUE(NextWrite(0, &op));
      Finish(op, EIO);
      RunWrites(0);
    }
  }

  /// Why one operation goes out now; nothing if the gate is closed.
  std::vector<FlushReason> ReasonsNow() {
    const Stats before = GetStats();
    WriteOp op;
    if (!NextWrite(0, &op)) return {};
    const Stats after = GetStats();
    std::vector<FlushReason> reasons;
    for (size_t reason = 0; reason < kFlushReasonCount; ++reason) {
      if (after.flushed_bytes[reason] == before.flushed_bytes[reason]) continue;
      reasons.push_back(static_cast<FlushReason>(reason));
    }
    return reasons;
  }
};

using Reasons = std::vector<FlushReason>;

TEST_F(StagerTest, LetsWritesGoWhenReadsNeverWere) {
  Write(2, 1);
  EXPECT_EQ(ReasonsNow(), Reasons{FlushReason::kIdle});
}

TEST_F(StagerTest, HoldsWritesBackWhileAReadIsOpen) {
  OpenARead();
  Write(2, 1);
  EXPECT_EQ(ReasonsNow(), Reasons{});
}

TEST_F(StagerTest, LetsWritesGoWhenReadsHaveBeenIdle) {
  OpenARead();
  Write(2, 1);
  ReadOp op;
  ASSERT_TRUE(NextRead(0, &op));
  EXPECT_TRUE(Deliver(op));
  EXPECT_EQ(ReasonsNow(), Reasons{});
  EXPECT_EQ(core_->NextTick(now_), now_ + milliseconds(10));
  Pass(milliseconds(10));
  EXPECT_EQ(ReasonsNow(), Reasons{FlushReason::kIdle});
}

TEST_F(StagerTest, LetsWritesGoAtTheForwardHint) {
  core_->StepBegin();
  Write(2, 1);
  EXPECT_EQ(ReasonsNow(), Reasons{});
  core_->ForwardBegan(now_);
  EXPECT_EQ(ReasonsNow(), Reasons{FlushReason::kHint});
}

TEST_F(StagerTest, HoldsWritesBackAgainWhenReadsFollowTheHint) {
  core_->ForwardBegan(now_);
  OpenARead();
  Write(2, 1);
  EXPECT_EQ(ReasonsNow(), Reasons{});
}

TEST_F(StagerTest, LetsOldWritesGoDuringReads) {
  OpenARead();
  Write(2, 1);
  Pass(milliseconds(99));
  EXPECT_EQ(ReasonsNow(), Reasons{});
  Pass(milliseconds(1));
  EXPECT_EQ(ReasonsNow(), Reasons{FlushReason::kAge});
}

TEST_F(StagerTest, DropsACopyThatIsNotBegunAtTwiceTheAge) {
  OpenARead();
  Write(2, 1);
  Pass(milliseconds(200));
  EXPECT_EQ(GetStats().staged_bytes, 0u);
  EXPECT_EQ(GetStats().tiers[0].dropped_copies[static_cast<size_t>(DropReason::kAge)], 1u);
}

TEST_F(StagerTest, LetsWritesGoDuringReadsAboveTheHighWater) {
  OpenARead();
  Write(2, 12);
  EXPECT_EQ(ReasonsNow(), Reasons{});
  Write(3, 1);
  EXPECT_EQ(ReasonsNow(), Reasons{FlushReason::kHighWater});
}

TEST_F(StagerTest, LetsWritesGoDuringReadsWhenOneFoundTheStageFull) {
  OpenARead();
  Write(2, 10);
  EXPECT_EQ(Write(3, 10), WriteAccept::kDropped);
  EXPECT_EQ(ReasonsNow(), Reasons{FlushReason::kStageFull});
}

TEST_F(StagerTest, LetsWritesGoDuringReadsAtAFlush) {
  OpenARead();
  Write(2, 1);
  const uint64_t flush = core_->Flush(now_);
  EXPECT_FALSE(core_->FlushDone(flush));
  EXPECT_EQ(ReasonsNow(), Reasons{FlushReason::kExplicit});
}

TEST_F(StagerTest, FlushesWhatWasStagedBeforeAndNoMore) {
  OpenARead();
  Write(2, 1);
  const uint64_t flush = core_->Flush(now_);
  Write(3, 1);
  RunWrites(0);
  EXPECT_TRUE(core_->FlushDone(flush));
  LookupResult result;
  const ChunkKey key = TestKey(3);
  core_->Lookup(0, {&key, 1}, {&result, 1});
  EXPECT_TRUE(result.staged);
  EXPECT_EQ(result.tiers, 0);
}

TEST_F(StagerTest, SettlesAReplacedChunkOnNoTier) {
  options_.tiers.clear();
  Open(2, false);
  Write(2, 1);
  RunWrites(0);
  Write(2, 1, /*replace=*/true);
  RunWrites(1);
  for (const Event& event : core_->TakeEvents()) {
    if (event.kind != Event::Kind::kChunkSettled || event.ok) continue;
    EXPECT_EQ(event.tiers, 0);
    return;
  }
  FAIL() << "the replaced chunk has not settled";
}

TEST_F(StagerTest, AbandonsTheCopyOnATierTheChunkIsRemovedFrom) {
  options_.tiers.clear();
  Open(2, false);
  const ChunkKey key = TestKey(2);
  for (const int writes_before : {0, 1, 2}) {  // queued, being written, being published
    SCOPED_TRACE(writes_before);
    Write(2, 1, /*replace=*/true);
    std::vector<WriteOp> begun;
    for (WriteOp op; NextWrite(1, &op);) {
      if (op.kind != WriteOp::Kind::kUnlink) begun.push_back(op);
      if (begun.size() == 2 || (begun.size() == 1 && writes_before < 2)) break;
      Finish(op);
    }
    if (writes_before == 0) Finish(begun[0], EIO);
    core_->Remove(0, {&key, 1}, /*tiers=*/2, now_);
    if (writes_before > 0) Finish(begun.back());
    RunWrites(1);
    RunWrites(0);
    LookupResult found;
    core_->Lookup(0, {&key, 1}, {&found, 1});
    EXPECT_EQ(found.tiers, 1);
    EXPECT_EQ(core_->index().used_bytes(1), 0u);
    EXPECT_TRUE(core_->quiet());
  }
}

TEST_F(StagerTest, TriesToRemoveAFileAgain) {
  const ChunkKey key = TestKey(1);
  core_->Remove(0, {&key, 1}, 1, now_);
  WriteOp op;
  ASSERT_TRUE(NextWrite(0, &op));
  EXPECT_EQ(op.kind, WriteOp::Kind::kUnlink);
  Finish(op, EIO);
  EXPECT_GT(core_->index().used_bytes(0), 0u);
  EXPECT_FALSE(NextWrite(0, &op));
  now_ = core_->NextTick(now_);
  core_->Tick(now_);
  ASSERT_TRUE(NextWrite(0, &op));
  Finish(op);
  EXPECT_EQ(core_->index().used_bytes(0), 0u);
  EXPECT_TRUE(core_->quiet());
}

TEST_F(StagerTest, CountsATemporaryFileUntilItIsGone) {
  Write(2, 1);
  WriteOp op;
  ASSERT_TRUE(NextWrite(0, &op));
  Finish(op, EIO);
  ASSERT_TRUE(NextWrite(0, &op));
  EXPECT_EQ(op.kind, WriteOp::Kind::kAbandon);
  const uint64_t before = core_->index().used_bytes(0);
  core_->FinishWrite(op.id, {false, EIO, /*temp_left=*/true}, now_);
  EXPECT_EQ(core_->index().used_bytes(0), before);
  EXPECT_EQ(GetStats().staged_bytes, 0u);  // its memory is not held
  const uint64_t copy = op.copy;
  ASSERT_TRUE(NextWrite(0, &op));
  EXPECT_EQ(op.kind, WriteOp::Kind::kAbandon);
  EXPECT_EQ(op.copy, copy);
  Finish(op);
  EXPECT_LT(core_->index().used_bytes(0), before);
}

TEST_F(StagerTest, SetsATierAsideThatOnlyLetsFilesBeRemoved) {
  FailThreeWrites();
  EXPECT_FALSE(GetStats().tiers[0].up);
}

TEST_F(StagerTest, TakesAFullTiersProbeForAnAnswer) {
  FailThreeWrites();
  ASSERT_FALSE(GetStats().tiers[0].up);
  now_ = core_->NextTick(now_);
  core_->Tick(now_);
  WriteOp op;
  ASSERT_TRUE(NextWrite(0, &op));
  ASSERT_EQ(op.kind, WriteOp::Kind::kProbe);
  Finish(op, ENOSPC);
  EXPECT_TRUE(GetStats().tiers[0].up);
}

}  // namespace
}  // namespace kvstream::core
