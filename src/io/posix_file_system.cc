#include "io/posix_file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>

#include "io/io_backend.h"
#include "io/transfer.h"

namespace kvstream::io {
namespace {

constexpr mode_t kFileMode = 0600;
constexpr mode_t kDirectoryMode = 0700;
constexpr mode_t kPermissionBits = 0777;
constexpr int kLockAttempts = 5;
constexpr std::chrono::milliseconds kLockRetryDelay{50};
// One request carries its length in 31 bits.
constexpr size_t kTransferBytesMax = size_t{1} << 30;

// Repeats `call` while a signal interrupts it; returns its result or a negative errno.
template <typename Call>
auto Retried(Call call) {
  while (true) {
    const auto result = call();
    if (result >= 0) return result;
    if (errno != EINTR) return static_cast<decltype(call())>(-errno);
  }
}

void FillInfo(const struct stat& status, FileInfo* info) {
  info->bytes = static_cast<uint64_t>(status.st_size);
  info->device = status.st_dev;
  info->inode = status.st_ino;
  info->allocated_bytes = static_cast<uint64_t>(status.st_blocks) * 512;
  info->links = static_cast<uint32_t>(status.st_nlink);
  info->mode = status.st_mode & 07777u;
  info->user = status.st_uid;
  info->regular = S_ISREG(status.st_mode);
  info->directory = S_ISDIR(status.st_mode);
}

// A umask can only take bits away, and only one that denies the owner takes any of ours.
// Touches nothing but what this process can just have made: its own, with bits missing, and
// empty if a file.
int RepairMode(int fd, mode_t mode) {
  struct stat status;
  if (fstat(fd, &status) != 0) return -errno;
  const bool fresh = S_ISDIR(status.st_mode) || (S_ISREG(status.st_mode) && status.st_size == 0);
  if ((status.st_mode & mode) == mode || !fresh || status.st_uid != geteuid()) return 0;
  return Retried([&] { return fchmod(fd, (status.st_mode & kPermissionBits) | mode); });
}

// Moves all of `data` in steps that a request can describe.
int64_t TransferAll(IoRequest::Kind kind, int fd, std::span<std::byte> data, uint64_t offset) {
  size_t moved = 0;
  while (moved < data.size()) {
    const size_t bytes = std::min(data.size() - moved, kTransferBytesMax);
    const iovec entry{data.data() + moved, bytes};
    IoRequest request;
    request.kind = kind;
    request.fd = fd;
    request.offset = offset + moved;
    request.iov = {&entry, 1};
    request.bytes = static_cast<uint32_t>(bytes);
    BeginTransfer(request);
    RunTransfer(request);
    if (request.result < 0) return request.result;
    moved += static_cast<size_t>(request.result);
    if (static_cast<size_t>(request.result) < bytes) break;
  }
  return static_cast<int64_t>(moved);
}

struct DirectoryCloser {
  // closedir fails only for a bad stream.
  void operator()(DIR* stream) const { static_cast<void>(closedir(stream)); }
};

bool IsDirectory(DIR* stream, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
  struct stat status;
  if (fstatat(dirfd(stream), entry.d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
  return S_ISDIR(status.st_mode);
}

}  // namespace

int PosixFileSystem::Open(const std::string& path, int flags) {
  const int all_flags = flags | O_CLOEXEC | O_NOFOLLOW;
  const int fd = Retried([&] { return ::open(path.c_str(), all_flags, kFileMode); });
  if (fd < 0 || (flags & O_CREAT) == 0) return fd;
  if (const int error = RepairMode(fd, kFileMode); error < 0) {
    static_cast<void>(Close(fd));  // the first error is the one to tell
    return error;
  }
  return fd;
}

// Linux frees the descriptor even when close fails with EINTR, so it must not be repeated.
int PosixFileSystem::Close(int fd) { return ::close(fd) == 0 || errno == EINTR ? 0 : -errno; }

int64_t PosixFileSystem::Read(int fd, std::span<std::byte> data, uint64_t offset) {
  return TransferAll(IoRequest::Kind::kRead, fd, data, offset);
}

int64_t PosixFileSystem::Write(int fd, std::span<const std::byte> data, uint64_t offset) {
  // An iovec has no const form; pwritev does not write to it.
  const std::span<std::byte> source(const_cast<std::byte*>(data.data()), data.size());
  return TransferAll(IoRequest::Kind::kWrite, fd, source, offset);
}

int PosixFileSystem::Allocate(int fd, uint64_t bytes) {
  const auto length = static_cast<off_t>(bytes);
  const int result = Retried([&] { return fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, length); });
  return result == -ENOSYS || result == -ENOTSUP ? -EOPNOTSUPP : result;
}

int PosixFileSystem::Truncate(int fd, uint64_t bytes) {
  return Retried([&] { return ftruncate(fd, static_cast<off_t>(bytes)); });
}

int PosixFileSystem::Sync(int fd) {
  return Retried([&] { return fdatasync(fd); });
}

int PosixFileSystem::Stat(const std::string& path, FileInfo* info) {
  struct stat status;
  const int result = Retried([&] { return lstat(path.c_str(), &status); });
  if (result == 0) FillInfo(status, info);
  return result;
}

int PosixFileSystem::StatFd(int fd, FileInfo* info) {
  struct stat status;
  const int result = Retried([&] { return fstat(fd, &status); });
  if (result == 0) FillInfo(status, info);
  return result;
}

int PosixFileSystem::Rename(const std::string& from, const std::string& to) {
  return Retried([&] { return std::rename(from.c_str(), to.c_str()); });
}

int PosixFileSystem::Unlink(const std::string& path) {
  return Retried([&] { return ::unlink(path.c_str()); });
}

int PosixFileSystem::MakeDirectory(const std::string& path) {
  const int result = Retried([&] { return ::mkdir(path.c_str(), kDirectoryMode); });
  if (result < 0) return result;
  struct stat status;
  if (lstat(path.c_str(), &status) != 0) return -errno;
  if ((status.st_mode & kDirectoryMode) == kDirectoryMode) return 0;
  return Retried([&] { return ::chmod(path.c_str(), kDirectoryMode); });
}

int PosixFileSystem::List(const std::string& path, std::vector<DirectoryEntry>* entries) {
  const int fd = Open(path, O_RDONLY | O_DIRECTORY);
  if (fd < 0) return fd;
  const std::unique_ptr<DIR, DirectoryCloser> stream(fdopendir(fd));
  if (stream == nullptr) {
    const int error = -errno;
    static_cast<void>(Close(fd));
    return error;
  }
  entries->clear();
  while (true) {
    errno = 0;
    const dirent* const entry = readdir(stream.get());
    if (entry == nullptr) return -errno;
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    entries->push_back({entry->d_name, IsDirectory(stream.get(), *entry)});
  }
}

int PosixFileSystem::OpenLocked(const std::string& path) {
  const int fd = Open(path, O_RDWR | O_CREAT);
  if (fd < 0) return fd;
  int result = 0;
  for (int attempt = 0; attempt < kLockAttempts; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(kLockRetryDelay);
    result = Retried([&] { return flock(fd, LOCK_EX | LOCK_NB); });
    if (result != -EWOULDBLOCK) break;
  }
  if (result == 0) return fd;
  static_cast<void>(Close(fd));
  return result;
}

int PosixFileSystem::Magic(const std::string& path, uint64_t* magic) {
  struct statfs status;
  const int result = Retried([&] { return statfs(path.c_str(), &status); });
  // The kernel's magic numbers have 32 bits; some architectures sign-extend them.
  if (result == 0) *magic = static_cast<uint64_t>(status.f_type) & 0xffffffffu;
  return result;
}

}  // namespace kvstream::io
