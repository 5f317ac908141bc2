#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kvstream::io {

struct FileInfo {
  uint64_t bytes = 0;
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t allocated_bytes = 0;
  uint32_t links = 0;
  uint32_t mode = 0;  ///< Permission bits.
  uint32_t user = 0;  ///< Owner's user id.
  bool regular = false;
  bool directory = false;
};

struct DirectoryEntry {
  std::string name;
  bool directory = false;
};

/// The seam for everything about files that is not bulk transfer. Every method may block for as
/// long as the file system likes, so only lanes and Open call it. Results are >= 0 or a negative
/// errno; EINTR is retried inside. Thread-safe.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  /// open(2) with O_CLOEXEC | O_NOFOLLOW added. New files get mode 0600.
  virtual int Open(const std::string& path, int flags) = 0;
  virtual int Close(int fd) = 0;
  /// Reads or writes all of `data` unless the file ends; returns the bytes moved.
  virtual int64_t Read(int fd, std::span<std::byte> data, uint64_t offset) = 0;
  virtual int64_t Write(int fd, std::span<const std::byte> data, uint64_t offset) = 0;
  /// Reserves space without changing the file's size or what reads return; -EOPNOTSUPP where it
  /// cannot. A Truncate to the final size afterwards spares every write from extending the file.
  virtual int Allocate(int fd, uint64_t bytes) = 0;
  virtual int Truncate(int fd, uint64_t bytes) = 0;
  virtual int Sync(int fd) = 0;
  virtual int Stat(const std::string& path, FileInfo* info) = 0;  ///< Does not follow a final link.
  virtual int StatFd(int fd, FileInfo* info) = 0;
  virtual int Rename(const std::string& from, const std::string& to) = 0;
  virtual int Unlink(const std::string& path) = 0;
  virtual int MakeDirectory(const std::string& path) = 0;  ///< Mode 0700; -EEXIST if there.
  virtual int List(const std::string& path, std::vector<DirectoryEntry>* entries) = 0;
  /// Opens (creating) `path` and locks it exclusively; returns the fd, or -EWOULDBLOCK when another
  /// process has it and keeps it for the next 250 ms. Closing the fd unlocks.
  virtual int OpenLocked(const std::string& path) = 0;
  /// statfs(2) f_type, to tell network file systems from local ones.
  virtual int Magic(const std::string& path, uint64_t* magic) = 0;
};

}  // namespace kvstream::io
