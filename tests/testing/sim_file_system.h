#pragma once

#include <sys/uio.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/file_system.h"
#include "io/io_backend.h"
#include "testing/fault_plan.h"

namespace kvstream::test {

/// One file or directory. Lives while a name or an open descriptor refers to it.
struct SimNode {
  explicit SimNode(std::shared_ptr<std::atomic<uint64_t>> used_bytes)
      : used(std::move(used_bytes)) {}
  ~SimNode() { *used -= charged; }
  SimNode(const SimNode&) = delete;
  SimNode& operator=(const SimNode&) = delete;

  std::vector<std::byte> bytes;
  uint64_t inode = 0;
  uint64_t reserved = 0;  ///< By Allocate.
  uint64_t charged = 0;   ///< Part of the file system's used bytes.
  uint32_t links = 1;
  bool directory = false;
  bool locked = false;
  std::shared_ptr<std::atomic<uint64_t>> used;
};

struct SimOpenFile {
  std::shared_ptr<SimNode> node;
  std::string path;  ///< At open.
  int flags = 0;
  bool holds_lock = false;
};

struct SimFileSystemOptions {
  uint64_t capacity_bytes = UINT64_MAX;
  bool direct = true;  ///< Whether O_DIRECT can be opened; it asks for multiples of 4 KiB then.
  uint64_t magic = 0xef53;  ///< ext4
  uint64_t device = 1;
  FaultPlan* faults = nullptr;  ///< Outlives the file system.
};

/// A file system in memory. Absolute paths, no links, one directory at the start: "/". A file stays
/// usable after its name is gone. Faults of kind kHang block the caller, so they need a second
/// thread; kDelay has no effect here. Any thread.
class SimFileSystem final : public io::FileSystem {
 public:
  explicit SimFileSystem(const SimFileSystemOptions& options = {});

  int Open(const std::string& path, int flags) override;
  int Close(int fd) override;
  int64_t Read(int fd, std::span<std::byte> data, uint64_t offset) override;
  int64_t Write(int fd, std::span<const std::byte> data, uint64_t offset) override;
  int Allocate(int fd, uint64_t bytes) override;
  int Truncate(int fd, uint64_t bytes) override;
  int Sync(int fd) override;
  int Stat(const std::string& path, io::FileInfo* info) override;
  int StatFd(int fd, io::FileInfo* info) override;
  int Rename(const std::string& from, const std::string& to) override;
  int Unlink(const std::string& path) override;
  int MakeDirectory(const std::string& path) override;
  int List(const std::string& path, std::vector<io::DirectoryEntry>* entries) override;
  int OpenLocked(const std::string& path) override;
  int Magic(const std::string& path, uint64_t* magic) override;

  // For tests; no faults, paths must exist.
  bool Exists(const std::string& path) const;
  std::vector<std::byte> Contents(const std::string& path) const;
  void SetContents(const std::string& path, std::span<const std::byte> bytes);  ///< Creates it.
  void FlipBit(const std::string& path, uint64_t bit);
  std::vector<std::string> AllFiles() const;  ///< Paths of all regular files, sorted.
  uint64_t used_bytes() const { return *used_; }
  size_t open_files() const;
  /// Forgets all descriptors and locks, as if every process had died.
  void CloseAll();

  // For SimBackend.
  std::shared_ptr<SimOpenFile> Find(int fd) const;
  /// Moves data and applies `fault`. Bytes or a negative errno.
  int64_t Move(SimOpenFile& file, const io::IoRequest& request, const std::optional<Fault>& fault);

 private:
  std::optional<Fault> NextFault(FaultOp op, std::string_view path);
  int FailByPlan(FaultOp op, std::string_view path);
  std::shared_ptr<SimNode> Lookup(const std::string& path) const;
  std::shared_ptr<SimNode> CreateNode(bool directory);
  bool HasParentDirectory(const std::string& path) const;
  int OpenLockedMutex(const std::string& path, int flags);
  int Resize(SimNode& node, uint64_t bytes, uint64_t reserved);
  int64_t ReadInto(SimNode& node, std::span<const iovec> iov, uint64_t offset, uint64_t bytes_max);
  int64_t WriteFrom(SimNode& node, std::span<const iovec> iov, uint64_t offset, uint64_t bytes_max);
  int64_t MoveSingle(io::IoRequest::Kind kind, int fd, std::span<std::byte> data, uint64_t offset);
  void FillInfo(const SimNode& node, io::FileInfo* info) const;

  const SimFileSystemOptions options_;
  const std::shared_ptr<std::atomic<uint64_t>> used_;

  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<SimNode>> nodes_;
  std::map<int, std::shared_ptr<SimOpenFile>> open_;
  int next_fd_ = 1000;  // never 0..2, never a real descriptor of a small test
  uint64_t next_inode_ = 2;
};

}  // namespace kvstream::test
