#include "core/core.h"

#include "core/core_test_util.h"

namespace kvstream::core {
namespace {

/// A tier whose scan is not over: what the host does meanwhile must outlast what the scan finds.
class CoreTest : public CoreTestBase {
 protected:
  void SetUp() override {
    Open(2, false);
    core_ = std::make_unique<Core>(options_);
    core_->SetReady(0, now_);
    core_->ScanBegins(1);
  }

  void ScanFinds(const chunk::MetaRef& meta, bool owned = true) {
    const FoundChunk found{meta, owned};
    core_->AddFound(1, {&found, 1}, now_);
  }
  void ScanIsOver() {
    core_->ScanEnds(1, true, now_);
    core_->SetReady(1, now_);
  }
  LookupResult LookUp(uint64_t number) {
    LookupResult result;
    const ChunkKey key = TestKey(number);
    core_->Lookup(0, {&key, 1}, {&result, 1});
    return result;
  }
  void Remove(uint64_t number) {
    const ChunkKey key = TestKey(number);
    core_->Remove(0, {&key, 1}, 3, now_);
  }
};

TEST_F(CoreTest, KeepsARemovedChunkGoneWhenTheScanFindsIt) {
  Remove(1);
  ScanFinds(TestMeta(1, 1));
  EXPECT_FALSE(LookUp(1).hit());
  ScanIsOver();
  WriteOp op;
  ASSERT_TRUE(NextWrite(1, &op));
  EXPECT_EQ(op.kind, WriteOp::Kind::kUnlink);
  EXPECT_EQ(op.meta->key, TestKey(1));
}

TEST_F(CoreTest, CountsAnUnwantedFileUntilItIsGone) {
  Remove(1);
  ScanFinds(TestMeta(1, 1));
  ScanIsOver();
  EXPECT_EQ(core_->index().used_bytes(1), TestMeta(1, 1)->FileBytes());
  RunWrites(1);
  EXPECT_EQ(core_->index().used_bytes(1), 0u);
}

TEST_F(CoreTest, LeavesAnotherOwnersFileAloneWhenItIsUnwanted) {
  Remove(1);
  ScanFinds(TestMeta(1, 1), /*owned=*/false);
  ScanIsOver();
  WriteOp op;
  EXPECT_FALSE(NextWrite(1, &op));
  EXPECT_FALSE(LookUp(1).hit());
}

TEST_F(CoreTest, DoesNotFallBackToAVersionTheScanFindsAfterAReplacedOneIsGone) {
  Write(1, 1, /*replace=*/true);
  RunWrites(0);
  Remove(1);
  ScanFinds(TestMeta(1, 1));
  EXPECT_FALSE(LookUp(1).hit());
}

TEST_F(CoreTest, FindsRemovedNamesAgainOnceTheScanIsOver) {
  Remove(1);
  ScanIsOver();
  ScanFinds(TestMeta(1, 1), /*owned=*/false);  // as a discovering lookup does
  EXPECT_EQ(LookUp(1).tiers, 2);
}

TEST_F(CoreTest, LetsTheNewerOfTwoFoundVersionsWin) {
  Find(1, 1, 1);
  ScanFinds(TestMeta(1, 1, 2));
  EXPECT_EQ(LookUp(1).tiers, 2);
  WriteOp op;
  ASSERT_TRUE(NextWrite(0, &op));
  EXPECT_EQ(op.kind, WriteOp::Kind::kUnlink);
}

TEST_F(CoreTest, UnlinksNothingOnASnapshotsWordAlone) {
  ScanFinds(TestMeta(1, 1));  // an old snapshot's, before the scan
  const FoundChunk newer{TestMeta(1, 1, 2), true};
  core_->AddFound(0, {&newer, 1}, now_);
  ScanFinds(newer.meta);  // what really is there
  ScanIsOver();
  EXPECT_EQ(LookUp(1).tiers, 3);
  WriteOp op;
  EXPECT_FALSE(NextWrite(1, &op));
}

TEST_F(CoreTest, CountsAnOwnFileThatWasTakenForAnothers) {
  ScanFinds(TestMeta(1, 1), /*owned=*/false);
  EXPECT_EQ(core_->index().used_bytes(1), 0u);
  ScanFinds(TestMeta(1, 1), /*owned=*/true);
  EXPECT_EQ(core_->index().used_bytes(1), TestMeta(1, 1)->FileBytes());
  EXPECT_EQ(LookUp(1).tiers, 2);
}

TEST_F(CoreTest, ForgetsWhatTheScanDidNotMeet) {
  ScanFinds(TestMeta(1, 1));
  core_->ScanBegins(1);
  ScanIsOver();
  EXPECT_FALSE(LookUp(1).hit());
  EXPECT_EQ(core_->index().used_bytes(1), 0u);
}

TEST_F(CoreTest, IsAtRestWhenOnlyWhatCannotGoIsLeft) {
  Remove(1);
  ScanFinds(TestMeta(1, 1));  // to be unlinked on tier 1, which stays unready
  Write(2, 1);
  core_->BeginClose(now_);
  EXPECT_FALSE(core_->at_rest());
  for (WriteOp op; NextWrite(0, &op);) Finish(op, op.kind == WriteOp::Kind::kUnlink ? EIO : 0);
  EXPECT_TRUE(core_->at_rest());
  EXPECT_FALSE(core_->quiet());
  EXPECT_EQ(LookUp(2).tiers, 1);
}

TEST_F(CoreTest, TakesAFileThatADiscoveryMeetsWhileItIsBeingPublishedForItsOwn) {
  ScanIsOver();
  Write(1, 1);
  WriteOp publish;
  while (NextWrite(0, &publish) && publish.kind != WriteOp::Kind::kPublish) Finish(publish);
  ASSERT_EQ(publish.kind, WriteOp::Kind::kPublish);
  const FoundChunk renamed{publish.meta, false};
  core_->AddFound(0, {&renamed, 1}, now_);
  Finish(publish);
  EXPECT_EQ(core_->index().used_bytes(0), publish.meta->FileBytes());
  EXPECT_EQ(LookUp(1).tiers & 1, 1);
}

TEST_F(CoreTest, EndsALeaseThatIsNotReleased) {
  Find(1, 1, 1);
  const ChunkKey key = TestKey(1);
  const LeaseId lease = core_->Lease(0, {&key, 1}, now_);
  EXPECT_NE(lease, 0u);
  EXPECT_EQ(core_->NextTick(now_), now_ + options_.lease_ttl);
  EXPECT_EQ(GetStats().leases, 1u);
  Pass(options_.lease_ttl);
  EXPECT_EQ(GetStats().leases, 0u);
}

}  // namespace
}  // namespace kvstream::core
