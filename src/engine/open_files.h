#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "chunk/chunk_meta.h"
#include "engine/lane_context.h"

namespace kvstream::engine {

/// A descriptor that closes itself with its last user.
class OpenFile {
 public:
  OpenFile(io::FileSystem& files, int fd) : files_(files), fd_(fd) {}
  ~OpenFile() { files_.Close(fd_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int fd() const { return fd_; }

 private:
  io::FileSystem& files_;
  const int fd_;
};

/// Chunk files that a read lane has open, one descriptor a version. Those that no read uses are
/// kept for the chunk's next piece, few of them, and closed when the lane runs dry, since an open
/// file keeps its space after an unlink. One thread.
class OpenFiles {
 public:
  explicit OpenFiles(const LaneContext& context) : context_(context) {}

  /// The version's file. With LaneContext::verify off its footer is compared as well. kNotFound,
  /// kCorruption (another version, or no chunk at all), kIo.
  Result<std::shared_ptr<OpenFile>> Acquire(const chunk::ChunkMeta& meta);
  /// The next Acquire opens the path anew.
  void Forget(const chunk::ChunkMeta& meta) { files_.erase(meta.write_id); }
  void CloseIdle();

 private:
  struct Cached {
    std::shared_ptr<OpenFile> file;
    uint64_t last_use = 0;
  };

  Result<std::shared_ptr<OpenFile>> Open(const chunk::ChunkMeta& meta);
  void DropOldest();

  const LaneContext& context_;
  std::unordered_map<uint64_t, Cached> files_;  // by write id, which no two puts share
  uint64_t uses_ = 0;
};

}  // namespace kvstream::engine
