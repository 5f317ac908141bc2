#pragma once

#include "io/file_system.h"

namespace kvstream::io {

/// FileSystem over POSIX system calls. Stateless; any thread. New files have mode 0600 and new
/// directories 0700 whatever the umask. A final symbolic link is never followed (-ELOOP).
class PosixFileSystem final : public FileSystem {
 public:
  int Open(const std::string& path, int flags) override;
  int Close(int fd) override;
  int64_t Read(int fd, std::span<std::byte> data, uint64_t offset) override;
  int64_t Write(int fd, std::span<const std::byte> data, uint64_t offset) override;
  int Allocate(int fd, uint64_t bytes) override;
  int Truncate(int fd, uint64_t bytes) override;
  int Sync(int fd) override;
  int Stat(const std::string& path, FileInfo* info) override;
  int StatFd(int fd, FileInfo* info) override;
  int Rename(const std::string& from, const std::string& to) override;
  int Unlink(const std::string& path) override;
  int MakeDirectory(const std::string& path) override;
  int List(const std::string& path, std::vector<DirectoryEntry>* entries) override;
  /// Tries 5 times within 250 ms: io_uring can keep a descriptor, and so the lock, alive for a
  /// moment after its process was killed.
  int OpenLocked(const std::string& path) override;
  int Magic(const std::string& path, uint64_t* magic) override;
};

}  // namespace kvstream::io
