#include "tier/tier_directory.h"

#include <sys/stat.h>

#include <cstring>
#include <filesystem>

#include "io/posix_file_system.h"
#include "testing/sim_file_system.h"
#include "testing/temp_dir.h"
#include "tier/tier_test_util.h"

namespace kvstream::tier {
namespace {

namespace fs = std::filesystem;

class TierDirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Reopen();
    ASSERT_TRUE(tier_->CreateNamespace(identity_).has_value());
  }

  void Reopen() {
    tier_.reset();
    auto tier = TierDirectory::Open(files_, TestOptions(dir_.path().string()));
    ASSERT_TRUE(tier.has_value()) << tier.error().ToString();
    tier_ = std::move(*tier);
  }

  std::string NamespaceFile() const {
    return dir_.File(chunk::NamespaceDirectoryName(fingerprint_) + "/namespace.json");
  }

  Result<chunk::DecodedFooter> Find(uint64_t number) {
    return tier_->FindChunk(fingerprint_, TestKey(number), 5);
  }

  test::TempDir dir_;
  io::PosixFileSystem files_;
  const Identity identity_ = TestIdentity();
  const chunk::Fingerprint fingerprint_ = chunk::Fingerprint::Of(identity_);
  std::unique_ptr<TierDirectory> tier_;
};

TEST_F(TierDirectoryTest, NamespaceIsReadableAndKept) {
  const std::string text = ReadText(NamespaceFile());
  EXPECT_NE(text.find("\"model\": \"org/model\""), std::string::npos);
  EXPECT_NE(text.find(identity_.Fingerprint()), std::string::npos);
  fs::last_write_time(NamespaceFile(), fs::file_time_type());
  ASSERT_TRUE(tier_->CreateNamespace(identity_).has_value());
  EXPECT_EQ(fs::last_write_time(NamespaceFile()), fs::file_time_type()) << "not written again";
}

TEST_F(TierDirectoryTest, DamagedNamespaceFileIsWrittenAnew) {
  const std::string text = ReadText(NamespaceFile());
  for (const std::string& damage : {std::string(), std::string("{"), std::string(4096, '\0')}) {
    WriteText(NamespaceFile(), damage);
    ASSERT_TRUE(tier_->CreateNamespace(identity_).has_value());
    EXPECT_EQ(ReadText(NamespaceFile()), text);
  }
}

TEST_F(TierDirectoryTest, NothingIsMadeWhereTheTierHasGone) {
  fs::rename(dir_.File(".kvstream"), dir_.File("elsewhere"));
  const Identity other = TestIdentity("other");
  ExpectError(tier_->CreateNamespace(other), ErrorCode::kNotFound, "tier");
  EXPECT_FALSE(fs::exists(dir_.File(chunk::NamespaceDirectoryName(chunk::Fingerprint::Of(other)))));
}

TEST_F(TierDirectoryTest, ForeignAndNewerNamespacesAreRefused) {
  auto other = tier_->CreateNamespace(TestIdentity("other"));
  ASSERT_TRUE(other.has_value());
  const std::string foreign = ReadText(
      dir_.File(chunk::NamespaceDirectoryName(chunk::Fingerprint::Of(TestIdentity("other"))) +
                "/namespace.json"));
  WriteText(NamespaceFile(), foreign);
  ExpectError(tier_->CreateNamespace(identity_), ErrorCode::kCorruption, "another identity");
  WriteText(NamespaceFile(), "{\"kvstream_namespace\": 2}");
  ExpectError(tier_->CreateNamespace(identity_), ErrorCode::kUnsupported, "version 2");
  ExpectError(tier_->CreateNamespace(Identity()), ErrorCode::kInvalidArgument, "model");
  ExpectError(tier_->CreateNamespace(TestIdentity(std::string(70000, 'm'))),
              ErrorCode::kInvalidArgument, "too long");
}

TEST_F(TierDirectoryTest, HostileIdentitiesStayBelowTheDirectory) {
  const Identity identity = TestIdentity("../../../etc\n/%2f");
  ASSERT_TRUE(tier_->CreateNamespace(identity).has_value());
  PutChunk(files_, *tier_, identity, 1);
  const std::string path = tier_->ChunkPath(chunk::Fingerprint::Of(identity), TestKey(1))
                               .substr(dir_.path().string().size());
  EXPECT_EQ(path.find(".."), std::string::npos);
  EXPECT_TRUE(fs::exists(dir_.path().string() + path));
}

TEST_F(TierDirectoryTest, APublishedChunkIsFoundAndARemovedOneIsNot) {
  ExpectError(Find(1), ErrorCode::kNotFound, "");
  const chunk::MetaRef meta = PutChunk(files_, *tier_, identity_, 1);
  const auto found = Find(1);
  ASSERT_TRUE(found.has_value()) << found.error().ToString();
  EXPECT_EQ(found->meta->ns, 5);
  EXPECT_EQ(found->meta->write_id, meta->write_id);
  EXPECT_EQ(found->owner, "me");
  const auto opened = tier_->OpenChunk(fingerprint_, meta->key, false);
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(opened->file_bytes, meta->FileBytes());
  EXPECT_EQ(files_.Close(opened->fd), 0);
  EXPECT_EQ(tier_->RemoveChunk(fingerprint_, meta->key), 0);
  EXPECT_EQ(tier_->RemoveChunk(fingerprint_, meta->key), -ENOENT);
  ExpectError(Find(1), ErrorCode::kNotFound, "");
}

TEST_F(TierDirectoryTest, TemporaryFilesAreUniquePrivateAndOfFullLength) {
  const auto a = tier_->CreateTemp(fingerprint_, TestKey(1), false, 12288);
  const auto b = tier_->CreateTemp(fingerprint_, TestKey(1), false, 12288);
  ASSERT_TRUE(a.has_value() && b.has_value());
  EXPECT_NE(a->path, b->path);
  io::FileInfo info;
  ASSERT_EQ(files_.StatFd(a->fd, &info), 0);
  EXPECT_EQ(info.bytes, 12288u);
  EXPECT_EQ(info.mode & 0777, 0600u);
  EXPECT_EQ(files_.Close(a->fd), 0);
  EXPECT_EQ(files_.Close(b->fd), 0);
  EXPECT_EQ(tier_->DiscardTemp(a->path), 0);
  EXPECT_EQ(tier_->Publish(a->path, fingerprint_, TestKey(1)), -ENOENT);
  EXPECT_EQ(tier_->Publish(b->path, fingerprint_, TestKey(1)), 0);
}

TEST_F(TierDirectoryTest, TemporaryFileInAnUnknownNamespaceIsRefused) {
  const auto temp = tier_->CreateTemp(chunk::Fingerprint(), TestKey(1), false, 8192);
  ExpectError(temp, ErrorCode::kNotFound, "create directory");
}

TEST_F(TierDirectoryTest, EveryByteOfTheFooterIsChecked) {
  const chunk::MetaRef meta = PutChunk(files_, *tier_, identity_, 1);
  const std::string path = tier_->ChunkPath(fingerprint_, meta->key);
  const std::string good = ReadText(path);
  for (size_t i = good.size() - 4096; i < good.size(); i += 13) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 4);
    WriteText(path, bad);
    ExpectError(Find(1), ErrorCode::kCorruption, path);
  }
}

TEST_F(TierDirectoryTest, FilesOfAnyWrongLengthAreCorruption) {
  const chunk::MetaRef meta = PutChunk(files_, *tier_, identity_, 1);
  const std::string path = tier_->ChunkPath(fingerprint_, meta->key);
  const std::string good = ReadText(path);
  for (const size_t length : {0u, 1u, 4095u, 4096u, 4097u, 8191u, 8192u, 12287u}) {
    WriteText(path, good.substr(0, length));
    ExpectError(Find(1), ErrorCode::kCorruption, path);
  }
  WriteText(path, good + "x");
  ExpectError(Find(1), ErrorCode::kCorruption, "a length of 12289");
  WriteText(path, std::string(4096, '\0') + good);
  ExpectError(Find(1), ErrorCode::kCorruption, "in one of 16384");
  ASSERT_EQ(truncate(path.c_str(), off_t{1} << 40), 0);
  ExpectError(Find(1), ErrorCode::kCorruption, "a length of");
}

TEST_F(TierDirectoryTest, AValidFileOfAnotherKeyOrNamespaceIsCorruption) {
  const Identity other = TestIdentity("other");
  ASSERT_TRUE(tier_->CreateNamespace(other).has_value());
  PutChunk(files_, *tier_, identity_, 1);
  PutChunk(files_, *tier_, identity_, 2);
  PutChunk(files_, *tier_, other, 1);
  const std::string path = tier_->ChunkPath(fingerprint_, TestKey(1));
  WriteText(path, ReadText(tier_->ChunkPath(fingerprint_, TestKey(2))));
  ExpectError(Find(1), ErrorCode::kCorruption, "another key");
  WriteText(path, ReadText(tier_->ChunkPath(chunk::Fingerprint::Of(other), TestKey(1))));
  ExpectError(Find(1), ErrorCode::kCorruption, "another namespace");
}

TEST_F(TierDirectoryTest, WhatIsPlantedAtAChunksPathIsNeitherFollowedNorWaitedFor) {
  PutChunk(files_, *tier_, identity_, 1);
  PutChunk(files_, *tier_, identity_, 2);
  const std::string path = tier_->ChunkPath(fingerprint_, TestKey(1));
  const std::string victim = dir_.File("victim");
  fs::rename(path, victim);
  fs::create_symlink(victim, path);
  ExpectError(Find(1), ErrorCode::kCorruption, "not a regular file");
  fs::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  ExpectError(Find(1), ErrorCode::kCorruption, "not a regular file");
  fs::remove(path);
  fs::create_directory(path);
  ExpectError(Find(1), ErrorCode::kCorruption, "not a regular file");
  fs::remove(path);
  fs::create_hard_link(victim, path);
  ExpectError(Find(1), ErrorCode::kCorruption, "one name");
}

TEST_F(TierDirectoryTest, SnapshotIsCleanUntilItIsMarkedStale) {
  ExpectError(tier_->LoadSnapshot(), ErrorCode::kNotFound, "");
  ASSERT_TRUE(tier_->MarkSnapshotStale().has_value()) << "without a snapshot";
  Snapshot snapshot;
  snapshot.fingerprints = {fingerprint_};
  snapshot.entries.push_back({0, true, TestMeta(1, 5000, 4096)});
  ASSERT_TRUE(tier_->WriteSnapshot(snapshot, true).has_value());
  Reopen();
  auto loaded = tier_->LoadSnapshot();
  ASSERT_TRUE(loaded.has_value()) << loaded.error().ToString();
  EXPECT_TRUE(loaded->clean);
  ASSERT_TRUE(tier_->MarkSnapshotStale().has_value());
  Reopen();  // as after a crash
  loaded = tier_->LoadSnapshot();
  ASSERT_TRUE(loaded.has_value()) << loaded.error().ToString();
  EXPECT_FALSE(loaded->clean);
  EXPECT_EQ(loaded->entries.size(), 1u);
  ASSERT_TRUE(tier_->WriteSnapshot(Snapshot(), true).has_value());
  loaded = tier_->LoadSnapshot();
  ASSERT_TRUE(loaded.has_value());
  EXPECT_TRUE(loaded->clean);
  EXPECT_TRUE(loaded->entries.empty());
  EXPECT_FALSE(fs::exists(dir_.File(".kvstream/owners/me.snapshot.stale")));
  ASSERT_TRUE(tier_->WriteSnapshot(snapshot, false).has_value());
  EXPECT_FALSE(tier_->LoadSnapshot()->clean);
}

TEST_F(TierDirectoryTest, ForeignSnapshotsArePassedOver) {
  ASSERT_TRUE(tier_->WriteSnapshot(Snapshot(), true).has_value());
  const std::string path = dir_.File(".kvstream/owners/me.snapshot");
  fs::copy_file(path, dir_.File(".kvstream/owners/you.snapshot"));
  const auto you = TierDirectory::Open(files_, TestOptions(dir_.path().string(), "you"));
  ASSERT_TRUE(you.has_value());
  ExpectError((*you)->LoadSnapshot(), ErrorCode::kInvalidArgument, "another owner");
  fs::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  ExpectError(tier_->LoadSnapshot(), ErrorCode::kCorruption, "not a regular file");
}

TEST(TierDirectoryFaultTest, AFailedTemporaryFileLeavesNothingBehind) {
  const Identity identity = TestIdentity();
  for (const test::FaultOp op : {test::FaultOp::kOpen, test::FaultOp::kAllocate}) {
    test::FaultPlan plan(1);
    test::SimFileSystem files({.faults = &plan});
    auto tier = TierDirectory::Open(files, TestOptions("/"));
    ASSERT_TRUE(tier.has_value()) << tier.error().ToString();
    ASSERT_TRUE((*tier)->CreateNamespace(identity).has_value());
    const size_t before = files.AllFiles().size();
    const size_t open_before = files.open_files();
    plan.Add({.op = op, .error = ENOSPC, .first = 1, .count = 1, .path_contains = ".tmp"});
    const auto temp =
        (*tier)->CreateTemp(chunk::Fingerprint::Of(identity), TestKey(1), false, 8192);
    ExpectError(temp, ErrorCode::kNoSpace, ".tmp");
    EXPECT_EQ(temp.error().tier(), "nvme");
    EXPECT_EQ(temp.error().errno_value(), ENOSPC);
    EXPECT_EQ(files.AllFiles().size(), before);
    EXPECT_EQ(files.open_files(), open_before);
  }
}

TEST(TierDirectoryFaultTest, AFileSystemThatCannotAllocateStillTakesChunks) {
  test::FaultPlan plan(1);
  test::SimFileSystem files({.faults = &plan});
  auto tier = TierDirectory::Open(files, TestOptions("/"));
  ASSERT_TRUE(tier.has_value());
  ASSERT_TRUE((*tier)->CreateNamespace(TestIdentity()).has_value());
  plan.Add({.op = test::FaultOp::kAllocate,
            .error = EOPNOTSUPP,
            .first = 1,
            .count = 100,
            .path_contains = ""});
  PutChunk(files, **tier, TestIdentity(), 1);
  EXPECT_EQ(plan.fired(), 1u);
  const auto found = (*tier)->FindChunk(chunk::Fingerprint::Of(TestIdentity()), TestKey(1), 0);
  EXPECT_TRUE(found.has_value());
}

TEST(TierDirectoryFaultTest, ARefusedDirectOpenIsTold) {
  test::SimFileSystem files({.direct = false});
  auto tier = TierDirectory::Open(files, TestOptions("/"));
  ASSERT_TRUE(tier.has_value());
  ASSERT_TRUE((*tier)->CreateNamespace(TestIdentity()).has_value());
  const auto temp =
      (*tier)->CreateTemp(chunk::Fingerprint::Of(TestIdentity()), TestKey(1), true, 8192);
  ASSERT_FALSE(temp.has_value());
  EXPECT_EQ(temp.error().errno_value(), EINVAL);
}

TEST(TierDirectoryFaultTest, AnInterruptedSnapshotLeavesTheOldOne) {
  for (const test::FaultOp op : {test::FaultOp::kOpen, test::FaultOp::kWrite, test::FaultOp::kSync,
                                 test::FaultOp::kRename}) {
    test::FaultPlan plan(1);
    test::SimFileSystem files({.faults = &plan});
    auto tier = TierDirectory::Open(files, TestOptions("/"));
    ASSERT_TRUE(tier.has_value());
    Snapshot snapshot;
    snapshot.fingerprints.resize(1);
    snapshot.entries.push_back({0, true, TestMeta(1, 5000, 4096)});
    ASSERT_TRUE((*tier)->WriteSnapshot(snapshot, true).has_value());
    plan.Add({.op = op, .first = 1, .count = 1, .path_contains = ""});
    EXPECT_FALSE((*tier)->WriteSnapshot(Snapshot(), true).has_value());
    EXPECT_EQ(plan.fired(), 1u);
    const auto loaded = (*tier)->LoadSnapshot();
    ASSERT_TRUE(loaded.has_value()) << loaded.error().ToString();
    EXPECT_EQ(loaded->entries.size(), 1u);
  }
}

}  // namespace
}  // namespace kvstream::tier
