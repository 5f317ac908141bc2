#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "kvstream/status.h"

#include "io/file_system.h"

namespace kvstream::tier {

/// The small files of one tier: whole reads, atomic writes, directories, and errors that say what
/// failed on which path of which tier. Any thread; every method blocks on the file system.
class TierFiles {
 public:
  TierFiles(io::FileSystem& file_system, std::string tier)
      : file_system_(file_system), tier_(std::move(tier)) {}

  io::FileSystem& file_system() const { return file_system_; }

  /// The Error for a negative errno: kNotFound for ENOENT, kNoSpace for ENOSPC, EDQUOT and EFBIG,
  /// else kIo. "open /a/b".
  Error Failed(std::string_view action, const std::string& path, int result) const;
  /// What is wrong with the contents of `path`.
  Error Refused(ErrorCode code, const std::string& path, std::string_view what) const;
  /// A decoder's Error, with the path and the tier added.
  Error Blame(const Error& error, const std::string& path) const;

  /// The whole file. kCorruption if it is not a regular file or longer than `bytes_max`.
  Result<std::string> ReadWhole(const std::string& path, size_t bytes_max) const;

  /// Makes `path` hold `text`, whatever happens: written to `temp_path` on the same file system,
  /// synced, renamed, and the directory synced. `temp_path` is replaced if a crash left it.
  Status WriteDurably(const std::string& path, const std::string& temp_path,
                      std::string_view text) const;

  /// An empty file for writing; whatever had the path is removed first.
  Result<int> CreateFresh(const std::string& path) const;
  /// Syncs and closes `fd`, then renames `temp_path` to `path` and syncs the directory. On failure
  /// the temporary file is removed. Takes `fd` in any case. `written` is the outcome of writing: a
  /// negative errno fails it too.
  Status Commit(int fd, const std::string& temp_path, const std::string& path,
                int64_t written) const;

  /// Makes a directory unless there is one. kCorruption if something else has the name.
  Status EnsureDirectory(const std::string& path) const;
  /// Makes the names in a directory durable, where the file system can.
  Status SyncDirectory(const std::string& path) const;

 private:
  io::FileSystem& file_system_;
  std::string tier_;
};

/// Closes a file that was only read; no error can matter.
class ReadHandle {
 public:
  ReadHandle(io::FileSystem& file_system, int fd) : file_system_(file_system), fd_(fd) {}
  ~ReadHandle() {
    if (fd_ >= 0) static_cast<void>(file_system_.Close(fd_));
  }
  ReadHandle(const ReadHandle&) = delete;
  ReadHandle& operator=(const ReadHandle&) = delete;

  int fd() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  io::FileSystem& file_system_;
  int fd_;
};

}  // namespace kvstream::tier
