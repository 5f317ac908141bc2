#include "io/posix_file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "testing/temp_dir.h"

namespace kvstream::io {
namespace {

std::vector<std::byte> Bytes(const char* text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text);
  return {begin, begin + std::strlen(text)};
}

class PosixFileSystemTest : public ::testing::Test {
 protected:
  int Create(const std::string& name) {
    const int fd = files_.Open(dir_.File(name), O_RDWR | O_CREAT | O_EXCL);
    EXPECT_GE(fd, 0);
    return fd;
  }

  test::TempDir dir_;
  PosixFileSystem files_;
};

// Sets the umask of the whole process; no other thread may create files meanwhile.
class ScopedUmask {
 public:
  explicit ScopedUmask(mode_t mask) : before_(umask(mask)) {}
  ~ScopedUmask() { umask(before_); }

 private:
  mode_t before_;
};

TEST_F(PosixFileSystemTest, ReadsBackWhatWasWrittenAndStopsAtTheEnd) {
  const int fd = Create("a");
  const std::vector<std::byte> data = Bytes("keys and values");
  EXPECT_EQ(files_.Write(fd, data, 10), static_cast<int64_t>(data.size()));
  std::vector<std::byte> read(100);
  EXPECT_EQ(files_.Read(fd, read, 10), static_cast<int64_t>(data.size()));
  read.resize(data.size());
  EXPECT_EQ(read, data);
  EXPECT_EQ(files_.Read(fd, read, 1000), 0);
  EXPECT_EQ(files_.Sync(fd), 0);
  EXPECT_EQ(files_.Close(fd), 0);
}

TEST_F(PosixFileSystemTest, ModesDoNotDependOnTheUmask) {
  for (const mode_t mask : {mode_t{0}, mode_t{022}, mode_t{077}, mode_t{0777}}) {
    const ScopedUmask scoped(mask);
    const std::string name = std::to_string(mask);
    const int fd = Create(name);
    EXPECT_EQ(files_.MakeDirectory(dir_.File(name + ".d")), 0);
    FileInfo info;
    ASSERT_EQ(files_.StatFd(fd, &info), 0);
    EXPECT_EQ(info.mode, 0600u) << "umask " << mask;
    ASSERT_EQ(files_.Stat(dir_.File(name + ".d"), &info), 0);
    EXPECT_EQ(info.mode & 0777u, 0700u) << "umask " << mask;
    EXPECT_TRUE(info.directory);
    EXPECT_EQ(files_.Close(fd), 0);
  }
}

TEST_F(PosixFileSystemTest, OpeningAnExistingFileLeavesItsModeAlone) {
  const int fd = Create("a");
  ASSERT_EQ(fchmod(fd, 0640), 0);
  EXPECT_EQ(files_.Close(fd), 0);
  const int again = files_.Open(dir_.File("a"), O_RDWR | O_CREAT);
  ASSERT_GE(again, 0);
  FileInfo info;
  ASSERT_EQ(files_.StatFd(again, &info), 0);
  EXPECT_EQ(info.mode, 0640u);
  EXPECT_EQ(files_.Close(again), 0);
}

TEST_F(PosixFileSystemTest, NeverFollowsAFinalLink) {
  EXPECT_EQ(files_.Close(Create("target")), 0);
  ASSERT_EQ(symlink(dir_.File("target").c_str(), dir_.File("link").c_str()), 0);
  EXPECT_EQ(files_.Open(dir_.File("link"), O_RDONLY), -ELOOP);
  EXPECT_EQ(files_.OpenLocked(dir_.File("link")), -ELOOP);
  FileInfo info;
  ASSERT_EQ(files_.Stat(dir_.File("link"), &info), 0);
  EXPECT_FALSE(info.regular);
}

TEST_F(PosixFileSystemTest, DescriptorsAreClosedOnExec) {
  const int fd = Create("a");
  EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(files_.Close(fd), 0);
}

TEST_F(PosixFileSystemTest, AllocatingChangesNeitherSizeNorContents) {
  const int fd = Create("a");
  const std::vector<std::byte> data = Bytes("abc");
  ASSERT_EQ(files_.Write(fd, data, 0), 3);
  const int result = files_.Allocate(fd, 1 << 20);
  if (result == -EOPNOTSUPP) GTEST_SKIP() << "no fallocate on this file system";
  ASSERT_EQ(result, 0);
  FileInfo info;
  ASSERT_EQ(files_.StatFd(fd, &info), 0);
  EXPECT_EQ(info.bytes, 3u);
  EXPECT_GE(info.allocated_bytes, uint64_t{1} << 20);
  EXPECT_EQ(files_.Truncate(fd, 1 << 20), 0);
  std::vector<std::byte> read(4);
  ASSERT_EQ(files_.Read(fd, read, 0), 4);
  EXPECT_EQ(read[2], std::byte{'c'});
  EXPECT_EQ(read[3], std::byte{0});
  EXPECT_EQ(files_.Close(fd), 0);
}

TEST_F(PosixFileSystemTest, ListsEveryEntryButTheDots) {
  EXPECT_EQ(files_.Close(Create("file")), 0);
  ASSERT_EQ(files_.MakeDirectory(dir_.File("directory")), 0);
  EXPECT_EQ(files_.MakeDirectory(dir_.File("directory")), -EEXIST);
  std::vector<DirectoryEntry> entries = {{"old", false}};
  ASSERT_EQ(files_.List(dir_.path().string(), &entries), 0);
  std::sort(entries.begin(), entries.end(),
            [](const auto& left, const auto& right) { return left.name < right.name; });
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].name, "directory");
  EXPECT_TRUE(entries[0].directory);
  EXPECT_EQ(entries[1].name, "file");
  EXPECT_FALSE(entries[1].directory);
  EXPECT_EQ(files_.List(dir_.File("file"), &entries), -ENOTDIR);
  EXPECT_EQ(files_.List(dir_.File("missing"), &entries), -ENOENT);
}

TEST_F(PosixFileSystemTest, RenameReplacesAndUnlinkRemoves) {
  const int fd = Create("new");
  ASSERT_EQ(files_.Write(fd, Bytes("new"), 0), 3);
  EXPECT_EQ(files_.Close(fd), 0);
  EXPECT_EQ(files_.Close(Create("old")), 0);
  EXPECT_EQ(files_.Rename(dir_.File("new"), dir_.File("old")), 0);
  FileInfo info;
  ASSERT_EQ(files_.Stat(dir_.File("old"), &info), 0);
  EXPECT_EQ(info.bytes, 3u);
  EXPECT_TRUE(info.regular);
  EXPECT_EQ(files_.Unlink(dir_.File("old")), 0);
  EXPECT_EQ(files_.Unlink(dir_.File("old")), -ENOENT);
  EXPECT_EQ(files_.Stat(dir_.File("old"), &info), -ENOENT);
  EXPECT_EQ(files_.Rename(dir_.File("old"), dir_.File("x")), -ENOENT);
}

TEST_F(PosixFileSystemTest, ALockExcludesOthersUntilClosed) {
  const int fd = files_.OpenLocked(dir_.File("lock"));
  ASSERT_GE(fd, 0);
  EXPECT_EQ(files_.OpenLocked(dir_.File("lock")), -EWOULDBLOCK);
  EXPECT_EQ(files_.Close(fd), 0);
  const int again = files_.OpenLocked(dir_.File("lock"));
  EXPECT_GE(again, 0);
  EXPECT_EQ(files_.Close(again), 0);
}

TEST_F(PosixFileSystemTest, ALockFreedDuringTheRetriesIsTaken) {
  const int fd = files_.OpenLocked(dir_.File("lock"));
  ASSERT_GE(fd, 0);
  std::thread holder([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(files_.Close(fd), 0);
  });
  // On a machine stalled for longer than the retries last, the first attempts may all be in vain.
  int again = -EWOULDBLOCK;
  while (again == -EWOULDBLOCK) again = files_.OpenLocked(dir_.File("lock"));
  EXPECT_GE(again, 0);
  holder.join();
  EXPECT_EQ(files_.Close(again), 0);
}

TEST_F(PosixFileSystemTest, ErrorsAreNegativeErrnos) {
  FileInfo info;
  uint64_t magic = 0;
  std::array<std::byte, 1> byte{};
  EXPECT_EQ(files_.Open(dir_.File("missing"), O_RDONLY), -ENOENT);
  EXPECT_EQ(files_.Open(dir_.File("no/such"), O_RDWR | O_CREAT), -ENOENT);
  EXPECT_EQ(files_.Close(-1), -EBADF);
  EXPECT_EQ(files_.Read(-1, byte, 0), -EBADF);
  EXPECT_EQ(files_.Write(-1, byte, 0), -EBADF);
  EXPECT_EQ(files_.StatFd(-1, &info), -EBADF);
  EXPECT_EQ(files_.Truncate(-1, 0), -EBADF);
  EXPECT_EQ(files_.Sync(-1), -EBADF);
  EXPECT_EQ(files_.Allocate(-1, 1), -EBADF);
  EXPECT_EQ(files_.Magic(dir_.File("missing"), &magic), -ENOENT);
  EXPECT_EQ(files_.Magic(dir_.path().string(), &magic), 0);
  EXPECT_NE(magic, 0u);
}

}  // namespace
}  // namespace kvstream::io
