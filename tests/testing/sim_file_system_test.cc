#include "testing/sim_file_system.h"

#include <fcntl.h>

#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace kvstream::test {
namespace {

std::vector<std::byte> Bytes(size_t count, int value) {
  return std::vector<std::byte>(count, static_cast<std::byte>(value));
}

TEST(SimFileSystemTest, ReadsBackWhatWasWritten) {
  SimFileSystem files;
  const int fd = files.Open("/a", O_RDWR | O_CREAT);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(files.Write(fd, Bytes(10, 1), 5), 10);
  std::vector<std::byte> read(20);
  EXPECT_EQ(files.Read(fd, read, 0), 15);
  EXPECT_EQ(read[4], std::byte{0});
  EXPECT_EQ(read[5], std::byte{1});
  EXPECT_EQ(files.Read(fd, read, 15), 0);
  EXPECT_EQ(files.Close(fd), 0);
  EXPECT_EQ(files.Close(fd), -EBADF);
}

TEST(SimFileSystemTest, OpenFlagsMeanWhatTheyMeanOnLinux) {
  SimFileSystem files;
  EXPECT_EQ(files.Open("/a", O_RDWR), -ENOENT);
  EXPECT_EQ(files.Open("/no/a", O_RDWR | O_CREAT), -ENOENT);
  const int fd = files.Open("/a", O_RDWR | O_CREAT | O_EXCL);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(files.Open("/a", O_RDWR | O_CREAT | O_EXCL), -EEXIST);
  EXPECT_EQ(files.Open("/a", O_RDONLY | O_DIRECTORY), -ENOTDIR);
  EXPECT_EQ(files.Open("/", O_RDWR), -EISDIR);
  ASSERT_EQ(files.Write(fd, Bytes(3, 1), 0), 3);
  const int reader = files.Open("/a", O_RDONLY);
  EXPECT_EQ(files.Write(reader, Bytes(3, 1), 0), -EBADF);
  EXPECT_GE(files.Open("/a", O_RDWR | O_TRUNC), 0);
  EXPECT_TRUE(files.Contents("/a").empty());
}

TEST(SimFileSystemTest, DirectFilesAskForAlignment) {
  SimFileSystem files;
  const int fd = files.Open("/a", O_RDWR | O_CREAT | O_DIRECT);
  ASSERT_GE(fd, 0);
  alignas(4096) static std::array<std::byte, 8192> memory{};
  const std::span<std::byte> all(memory);
  EXPECT_EQ(files.Write(fd, all, 0), 8192);
  EXPECT_EQ(files.Write(fd, all.first(100), 0), -EINVAL);
  EXPECT_EQ(files.Write(fd, all.subspan(512, 4096), 0), -EINVAL);
  EXPECT_EQ(files.Read(fd, all.first(4096), 512), -EINVAL);
}

TEST(SimFileSystemTest, AFileOutlivesItsNameWhileOpen) {
  SimFileSystem files;
  const int fd = files.Open("/a", O_RDWR | O_CREAT);
  ASSERT_EQ(files.Write(fd, Bytes(100, 7), 0), 100);
  ASSERT_EQ(files.Unlink("/a"), 0);
  EXPECT_FALSE(files.Exists("/a"));
  std::vector<std::byte> read(100);
  EXPECT_EQ(files.Read(fd, read, 0), 100);
  EXPECT_EQ(files.used_bytes(), 100u);
  io::FileInfo info;
  ASSERT_EQ(files.StatFd(fd, &info), 0);
  EXPECT_EQ(info.links, 0u);
  EXPECT_EQ(files.Close(fd), 0);
  EXPECT_EQ(files.used_bytes(), 0u);
}

TEST(SimFileSystemTest, RenameReplacesAndKeepsOpenFiles) {
  SimFileSystem files;
  files.SetContents("/new", Bytes(5, 1));
  files.SetContents("/old", Bytes(9, 2));
  const int old = files.Open("/old", O_RDONLY);
  ASSERT_EQ(files.Rename("/new", "/old"), 0);
  EXPECT_EQ(files.AllFiles(), std::vector<std::string>{"/old"});
  EXPECT_EQ(files.Contents("/old"), Bytes(5, 1));
  std::vector<std::byte> read(9);
  EXPECT_EQ(files.Read(old, read, 0), 9);
  EXPECT_EQ(read, Bytes(9, 2));
  EXPECT_EQ(files.Rename("/missing", "/x"), -ENOENT);
}

TEST(SimFileSystemTest, FullIsFullUntilSpaceIsGivenBack) {
  SimFileSystemOptions options;
  options.capacity_bytes = 1000;
  SimFileSystem files(options);
  const int fd = files.Open("/a", O_RDWR | O_CREAT);
  EXPECT_EQ(files.Allocate(fd, 1001), -ENOSPC);
  EXPECT_EQ(files.Allocate(fd, 600), 0);
  EXPECT_EQ(files.used_bytes(), 600u);
  EXPECT_EQ(files.Write(fd, Bytes(600, 1), 0), 600);
  EXPECT_EQ(files.used_bytes(), 600u);
  const int other = files.Open("/b", O_RDWR | O_CREAT);
  EXPECT_EQ(files.Write(other, Bytes(401, 1), 0), -ENOSPC);
  EXPECT_TRUE(files.Contents("/b").empty());
  EXPECT_EQ(files.Write(other, Bytes(400, 1), 0), 400);
  EXPECT_EQ(files.Truncate(fd, 0), 0);
  EXPECT_EQ(files.used_bytes(), 400u);
}

TEST(SimFileSystemTest, ListShowsOneLevel) {
  SimFileSystem files;
  ASSERT_EQ(files.MakeDirectory("/d"), 0);
  EXPECT_EQ(files.MakeDirectory("/d/"), -EEXIST);
  ASSERT_EQ(files.MakeDirectory("/d/e"), 0);
  files.SetContents("/d/f", Bytes(1, 1));
  files.SetContents("/d/e/g", Bytes(1, 1));
  files.SetContents("/dd", Bytes(1, 1));
  std::vector<io::DirectoryEntry> entries;
  ASSERT_EQ(files.List("/d", &entries), 0);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].name, "e");
  EXPECT_TRUE(entries[0].directory);
  EXPECT_EQ(entries[1].name, "f");
  ASSERT_EQ(files.List("/", &entries), 0);
  EXPECT_EQ(entries.size(), 2u);
  EXPECT_EQ(files.List("/x", &entries), -ENOENT);
  EXPECT_EQ(files.List("/dd", &entries), -ENOTDIR);
}

TEST(SimFileSystemTest, LocksExcludeUntilClosed) {
  SimFileSystem files;
  const int fd = files.OpenLocked("/lock");
  ASSERT_GE(fd, 0);
  EXPECT_EQ(files.OpenLocked("/lock"), -EWOULDBLOCK);
  EXPECT_EQ(files.Close(fd), 0);
  EXPECT_GE(files.OpenLocked("/lock"), 0);
  files.CloseAll();
  EXPECT_GE(files.OpenLocked("/lock"), 0);
}

TEST(SimFileSystemTest, TheNthOperationOfEachKindFails) {
  FaultPlan plan(1);
  SimFileSystemOptions options;
  options.faults = &plan;
  SimFileSystem files(options);
  const auto fail_second = [&](FaultOp op) {
    FaultRule rule;
    rule.op = op;
    rule.error = ESTALE;
    rule.first = 2;
    plan.Clear();
    plan.Add(rule);
  };
  io::FileInfo info;
  std::vector<io::DirectoryEntry> entries;
  fail_second(FaultOp::kOpen);
  const int fd = files.Open("/a", O_RDWR | O_CREAT);
  EXPECT_EQ(files.Open("/a", O_RDWR), -ESTALE);
  EXPECT_EQ(files.Close(files.Open("/a", O_RDWR)), 0);
  fail_second(FaultOp::kStat);
  EXPECT_EQ(files.Stat("/a", &info), 0);
  EXPECT_EQ(files.StatFd(fd, &info), -ESTALE);
  fail_second(FaultOp::kSync);
  EXPECT_EQ(files.Sync(fd), 0);
  EXPECT_EQ(files.Sync(fd), -ESTALE);
  fail_second(FaultOp::kList);
  EXPECT_EQ(files.List("/", &entries), 0);
  EXPECT_EQ(files.List("/", &entries), -ESTALE);
  fail_second(FaultOp::kAllocate);
  EXPECT_EQ(files.Allocate(fd, 10), 0);
  EXPECT_EQ(files.Allocate(fd, 10), -ESTALE);
  fail_second(FaultOp::kMakeDirectory);
  EXPECT_EQ(files.MakeDirectory("/d"), 0);
  EXPECT_EQ(files.MakeDirectory("/e"), -ESTALE);
  fail_second(FaultOp::kRename);
  EXPECT_EQ(files.Rename("/a", "/b"), 0);
  EXPECT_EQ(files.Rename("/b", "/a"), -ESTALE);
  fail_second(FaultOp::kUnlink);
  EXPECT_EQ(files.Unlink("/b"), 0);
  EXPECT_EQ(files.Unlink("/b"), -ESTALE);
  EXPECT_EQ(plan.fired(), 8u);
  EXPECT_EQ(plan.seen(FaultOp::kUnlink), 2u);
}

TEST(SimFileSystemTest, AHangingCallWaitsForTheRelease) {
  FaultPlan plan(1);
  SimFileSystemOptions options;
  options.faults = &plan;
  SimFileSystem files(options);
  FaultRule rule;
  rule.op = FaultOp::kOpen;
  rule.kind = FaultKind::kHang;
  rule.first = 1;
  plan.Add(rule);
  int fd = -1;
  std::thread caller([&] { fd = files.Open("/a", O_RDWR | O_CREAT); });
  while (plan.fired() == 0) std::this_thread::yield();
  EXPECT_FALSE(files.Exists("/a"));
  plan.Release();
  caller.join();
  EXPECT_GE(fd, 0);
}

TEST(FaultPlanTest, TheSameSeedGivesTheSameFaults) {
  const auto run = [](uint64_t seed) {
    FaultPlan plan(seed);
    FaultRule rule;
    rule.op = FaultOp::kRead;
    rule.probability = 0.3;
    plan.Add(rule);
    std::string fired;
    for (int op = 0; op < 200; ++op) fired += plan.Next(FaultOp::kRead, "") ? '1' : '0';
    return fired;
  };
  EXPECT_EQ(run(5), run(5));
  EXPECT_NE(run(5), run(6));
  EXPECT_NE(run(5).find('1'), std::string::npos);
  EXPECT_NE(run(5).find('0'), std::string::npos);
}

TEST(FaultPlanTest, RulesMatchByPathAndCountOnTheirOwn) {
  FaultPlan plan(1);
  FaultRule rule;
  rule.op = FaultOp::kWrite;
  rule.first = 2;
  rule.count = 2;
  rule.path_contains = ".tmp";
  plan.Add(rule);
  EXPECT_FALSE(plan.Next(FaultOp::kWrite, "/a.tmp").has_value());
  EXPECT_FALSE(plan.Next(FaultOp::kWrite, "/a.kv").has_value());
  EXPECT_FALSE(plan.Next(FaultOp::kRead, "/a.tmp").has_value());
  EXPECT_TRUE(plan.Next(FaultOp::kWrite, "/a.tmp").has_value());
  EXPECT_TRUE(plan.Next(FaultOp::kWrite, "/b.tmp").has_value());
  EXPECT_FALSE(plan.Next(FaultOp::kWrite, "/b.tmp").has_value());
}

}  // namespace
}  // namespace kvstream::test
