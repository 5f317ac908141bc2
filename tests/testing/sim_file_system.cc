#include "testing/sim_file_system.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"

namespace kvstream::test {
namespace {

constexpr uint64_t kDirectAlignBytes = 4096;

// No doubled and no trailing slash.
std::string Normalized(const std::string& path) {
  std::string result;
  for (const char c : path) {
    if (c != '/' || result.empty() || result.back() != '/') result += c;
  }
  if (result.size() > 1 && result.back() == '/') result.pop_back();
  return result;
}

bool Aligned(uint64_t value) { return value % kDirectAlignBytes == 0; }

bool DirectTakes(const io::IoRequest& request) {
  return Aligned(request.offset) &&
         std::all_of(request.iov.begin(), request.iov.end(), [](const iovec& entry) {
           return Aligned(reinterpret_cast<uintptr_t>(entry.iov_base)) && Aligned(entry.iov_len);
         });
}

void FlipBitAt(std::byte* data, uint64_t bit) { data[bit / 8] ^= std::byte{1} << (bit % 8); }

// Flips a bit of the first `bytes` that `iov` names.
void FlipBitIn(std::span<const iovec> iov, uint64_t bytes, uint64_t random) {
  if (bytes == 0) return;
  uint64_t at = random / 8 % bytes;
  for (const iovec& entry : iov) {
    if (at < entry.iov_len) {
      FlipBitAt(static_cast<std::byte*>(entry.iov_base) + at, random % 8);
      return;
    }
    at -= entry.iov_len;
  }
}

}  // namespace

SimFileSystem::SimFileSystem(const SimFileSystemOptions& options)
    : options_(options), used_(std::make_shared<std::atomic<uint64_t>>(0)) {
  nodes_["/"] = CreateNode(true);
}

std::optional<Fault> SimFileSystem::NextFault(FaultOp op, std::string_view path) {
  if (options_.faults == nullptr) return std::nullopt;
  std::optional<Fault> fault = options_.faults->Next(op, path);
  if (fault.has_value() && fault->kind == FaultKind::kHang) {
    options_.faults->WaitReleased(*fault);
    return std::nullopt;
  }
  return fault;
}

// For operations that move no data: 0 or the negative errno of a fault.
int SimFileSystem::FailByPlan(FaultOp op, std::string_view path) {
  const std::optional<Fault> fault = NextFault(op, path);
  return fault.has_value() && fault->kind == FaultKind::kErrno ? -fault->error : 0;
}

std::shared_ptr<SimNode> SimFileSystem::Lookup(const std::string& path) const {
  const auto found = nodes_.find(path);
  return found == nodes_.end() ? nullptr : found->second;
}

std::shared_ptr<SimNode> SimFileSystem::CreateNode(bool directory) {
  auto node = std::make_shared<SimNode>(used_);
  node->inode = next_inode_++;
  node->directory = directory;
  return node;
}

bool SimFileSystem::HasParentDirectory(const std::string& path) const {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return false;
  const auto parent = Lookup(slash == 0 ? "/" : path.substr(0, slash));
  return parent != nullptr && parent->directory;
}

int SimFileSystem::Open(const std::string& path, int flags) {
  if (const int error = FailByPlan(FaultOp::kOpen, path); error < 0) return error;
  const std::lock_guard lock(mutex_);
  return OpenLockedMutex(Normalized(path), flags);
}

int SimFileSystem::OpenLockedMutex(const std::string& path, int flags) {
  std::shared_ptr<SimNode> node = Lookup(path);
  if (node == nullptr) {
    if ((flags & O_CREAT) == 0 || !HasParentDirectory(path)) return -ENOENT;
  } else {
    if ((flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) return -EEXIST;
    if (node->directory && (flags & O_ACCMODE) != O_RDONLY) return -EISDIR;
    if (!node->directory && (flags & O_DIRECTORY) != 0) return -ENOTDIR;
  }
  // As on Linux, the file may have been created by then.
  if (node == nullptr) node = nodes_[path] = CreateNode(false);
  if ((flags & O_DIRECT) != 0 && !options_.direct) return -EINVAL;
  if ((flags & O_TRUNC) != 0 && !node->directory) KVS_ASSERT(Resize(*node, 0, 0) == 0);
  auto file = std::make_shared<SimOpenFile>();
  file->node = std::move(node);
  file->path = path;
  file->flags = flags;
  open_[next_fd_] = std::move(file);
  return next_fd_++;
}

int SimFileSystem::OpenLocked(const std::string& path) {
  if (const int error = FailByPlan(FaultOp::kOpen, path); error < 0) return error;
  const std::lock_guard lock(mutex_);
  const std::string name = Normalized(path);
  if (const auto node = Lookup(name); node != nullptr && node->locked) return -EWOULDBLOCK;
  const int fd = OpenLockedMutex(name, O_RDWR | O_CREAT);
  if (fd < 0) return fd;
  open_[fd]->holds_lock = true;
  open_[fd]->node->locked = true;
  return fd;
}

int SimFileSystem::Close(int fd) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(fd);
  if (found == open_.end()) return -EBADF;
  if (found->second->holds_lock) found->second->node->locked = false;
  open_.erase(found);
  return 0;
}

std::shared_ptr<SimOpenFile> SimFileSystem::Find(int fd) const {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(fd);
  return found == open_.end() ? nullptr : found->second;
}

int64_t SimFileSystem::MoveSingle(io::IoRequest::Kind kind, int fd, std::span<std::byte> data,
                                  uint64_t offset) {
  const std::shared_ptr<SimOpenFile> file = Find(fd);
  if (file == nullptr) return -EBADF;
  const bool read = kind == io::IoRequest::Kind::kRead;
  const std::optional<Fault> fault = NextFault(read ? FaultOp::kRead : FaultOp::kWrite, file->path);
  const iovec entry{data.data(), data.size()};
  io::IoRequest request;
  request.kind = kind;
  request.offset = offset;
  request.iov = {&entry, 1};
  request.bytes = static_cast<uint32_t>(data.size());
  return Move(*file, request, fault);
}

int64_t SimFileSystem::Read(int fd, std::span<std::byte> data, uint64_t offset) {
  return MoveSingle(io::IoRequest::Kind::kRead, fd, data, offset);
}

int64_t SimFileSystem::Write(int fd, std::span<const std::byte> data, uint64_t offset) {
  // An iovec has no const form; a write does not change what it names.
  const std::span<std::byte> source(const_cast<std::byte*>(data.data()), data.size());
  return MoveSingle(io::IoRequest::Kind::kWrite, fd, source, offset);
}

int64_t SimFileSystem::Move(SimOpenFile& file, const io::IoRequest& request,
                            const std::optional<Fault>& fault) {
  const std::lock_guard lock(mutex_);
  SimNode& node = *file.node;
  const bool read = request.kind == io::IoRequest::Kind::kRead;
  const int access = file.flags & O_ACCMODE;
  if (access == (read ? O_WRONLY : O_RDONLY)) return -EBADF;
  if (node.directory) return -EISDIR;
  if ((file.flags & O_DIRECT) != 0 && !DirectTakes(request)) return -EINVAL;
  const FaultKind kind = fault.has_value() ? fault->kind : FaultKind::kDelay;
  if (kind == FaultKind::kErrno) return -fault->error;
  if (kind == FaultKind::kTruncateFile) {
    KVS_ASSERT(Resize(node, node.bytes.size() / 2, node.reserved) == 0);
  }
  if (read) {
    if (kind == FaultKind::kFlipStored && !node.bytes.empty()) {
      FlipBitAt(node.bytes.data(), fault->random % (node.bytes.size() * 8));
    }
    const uint64_t limit = kind == FaultKind::kShort ? request.bytes / 2 : request.bytes;
    const int64_t moved = ReadInto(node, request.iov, request.offset, limit);
    if (kind == FaultKind::kFlipRead) {
      FlipBitIn(request.iov, static_cast<uint64_t>(moved), fault->random);
    }
    return moved;
  }
  const bool partial = kind == FaultKind::kPartialWrite || kind == FaultKind::kShort;
  const uint64_t limit = partial ? request.bytes / 2 : request.bytes;
  const int64_t moved = WriteFrom(node, request.iov, request.offset, limit);
  if (moved < 0) return moved;
  if (kind == FaultKind::kFlipStored) {
    FlipBitAt(node.bytes.data(), request.offset * 8 + fault->random % (request.bytes * 8ull));
  }
  return partial ? -fault->error : moved;
}

int64_t SimFileSystem::ReadInto(SimNode& node, std::span<const iovec> iov, uint64_t offset,
                                uint64_t bytes_max) {
  uint64_t moved = 0;
  for (const iovec& entry : iov) {
    const uint64_t at = offset + moved;
    if (at >= node.bytes.size()) break;
    const uint64_t bytes =
        std::min({uint64_t{entry.iov_len}, node.bytes.size() - at, bytes_max - moved});
    if (bytes > 0) std::memcpy(entry.iov_base, node.bytes.data() + at, bytes);
    moved += bytes;
  }
  return static_cast<int64_t>(moved);
}

int64_t SimFileSystem::WriteFrom(SimNode& node, std::span<const iovec> iov, uint64_t offset,
                                 uint64_t bytes_max) {
  const uint64_t end = std::max<uint64_t>(node.bytes.size(), offset + bytes_max);
  if (const int error = Resize(node, end, node.reserved); error < 0) return error;
  uint64_t moved = 0;
  for (const iovec& entry : iov) {
    const uint64_t bytes = std::min(uint64_t{entry.iov_len}, bytes_max - moved);
    if (bytes > 0) std::memcpy(node.bytes.data() + offset + moved, entry.iov_base, bytes);
    moved += bytes;
  }
  return static_cast<int64_t>(moved);
}

// The only place that changes a file's size or the space it is charged for.
int SimFileSystem::Resize(SimNode& node, uint64_t bytes, uint64_t reserved) {
  const uint64_t charge = std::max(bytes, reserved);
  const uint64_t others = *used_ - node.charged;
  if (charge > node.charged &&
      charge > options_.capacity_bytes - std::min(others, options_.capacity_bytes)) {
    return -ENOSPC;
  }
  *used_ = others + charge;
  node.charged = charge;
  node.reserved = reserved;
  node.bytes.resize(bytes);
  return 0;
}

int SimFileSystem::Allocate(int fd, uint64_t bytes) {
  const std::shared_ptr<SimOpenFile> file = Find(fd);
  if (file == nullptr) return -EBADF;
  if (const int error = FailByPlan(FaultOp::kAllocate, file->path); error < 0) return error;
  const std::lock_guard lock(mutex_);
  return Resize(*file->node, file->node->bytes.size(), std::max(file->node->reserved, bytes));
}

int SimFileSystem::Truncate(int fd, uint64_t bytes) {
  const std::shared_ptr<SimOpenFile> file = Find(fd);
  if (file == nullptr) return -EBADF;
  const std::lock_guard lock(mutex_);
  const bool shrinks = bytes < file->node->bytes.size();
  return Resize(*file->node, bytes, shrinks ? bytes : file->node->reserved);
}

int SimFileSystem::Sync(int fd) {
  const std::shared_ptr<SimOpenFile> file = Find(fd);
  if (file == nullptr) return -EBADF;
  return FailByPlan(FaultOp::kSync, file->path);
}

void SimFileSystem::FillInfo(const SimNode& node, io::FileInfo* info) const {
  *info = {};
  info->bytes = node.bytes.size();
  info->device = options_.device;
  info->inode = node.inode;
  info->allocated_bytes = node.charged;
  info->links = node.links;
  info->mode = node.directory ? 0700 : 0600;
  info->regular = !node.directory;
  info->directory = node.directory;
}

int SimFileSystem::Stat(const std::string& path, io::FileInfo* info) {
  if (const int error = FailByPlan(FaultOp::kStat, path); error < 0) return error;
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<SimNode> node = Lookup(Normalized(path));
  if (node == nullptr) return -ENOENT;
  FillInfo(*node, info);
  return 0;
}

int SimFileSystem::StatFd(int fd, io::FileInfo* info) {
  const std::shared_ptr<SimOpenFile> file = Find(fd);
  if (file == nullptr) return -EBADF;
  if (const int error = FailByPlan(FaultOp::kStat, file->path); error < 0) return error;
  const std::lock_guard lock(mutex_);
  FillInfo(*file->node, info);
  return 0;
}

int SimFileSystem::Rename(const std::string& from, const std::string& to) {
  if (const int error = FailByPlan(FaultOp::kRename, from); error < 0) return error;
  const std::lock_guard lock(mutex_);
  const std::string source = Normalized(from);
  const std::string target = Normalized(to);
  std::shared_ptr<SimNode> node = Lookup(source);
  if (node == nullptr || !HasParentDirectory(target)) return -ENOENT;
  KVS_ASSERT(!node->directory);  // nobody renames directories
  const std::shared_ptr<SimNode> replaced = Lookup(target);
  if (replaced == node) return 0;
  if (replaced != nullptr) {
    if (replaced->directory) return -EISDIR;
    --replaced->links;
  }
  nodes_.erase(source);
  nodes_[target] = std::move(node);
  return 0;
}

int SimFileSystem::Unlink(const std::string& path) {
  if (const int error = FailByPlan(FaultOp::kUnlink, path); error < 0) return error;
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(Normalized(path));
  if (found == nodes_.end()) return -ENOENT;
  if (found->second->directory) return -EISDIR;
  --found->second->links;
  nodes_.erase(found);
  return 0;
}

int SimFileSystem::MakeDirectory(const std::string& path) {
  if (const int error = FailByPlan(FaultOp::kMakeDirectory, path); error < 0) return error;
  const std::lock_guard lock(mutex_);
  const std::string name = Normalized(path);
  if (Lookup(name) != nullptr) return -EEXIST;
  if (!HasParentDirectory(name)) return -ENOENT;
  nodes_[name] = CreateNode(true);
  return 0;
}

int SimFileSystem::List(const std::string& path, std::vector<io::DirectoryEntry>* entries) {
  if (const int error = FailByPlan(FaultOp::kList, path); error < 0) return error;
  const std::lock_guard lock(mutex_);
  const std::string name = Normalized(path);
  const std::shared_ptr<SimNode> node = Lookup(name);
  if (node == nullptr) return -ENOENT;
  if (!node->directory) return -ENOTDIR;
  entries->clear();
  const std::string prefix = name == "/" ? name : name + "/";
  for (auto it = nodes_.upper_bound(prefix); it != nodes_.end() && it->first.starts_with(prefix);
       ++it) {
    const std::string rest = it->first.substr(prefix.size());
    if (rest.find('/') == std::string::npos) entries->push_back({rest, it->second->directory});
  }
  return 0;
}

int SimFileSystem::Magic(const std::string& path, uint64_t* magic) {
  const std::lock_guard lock(mutex_);
  if (Lookup(Normalized(path)) == nullptr) return -ENOENT;
  *magic = options_.magic;
  return 0;
}

bool SimFileSystem::Exists(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  return Lookup(Normalized(path)) != nullptr;
}

std::vector<std::byte> SimFileSystem::Contents(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<SimNode> node = Lookup(Normalized(path));
  KVS_ASSERT(node != nullptr);
  return node->bytes;
}

void SimFileSystem::SetContents(const std::string& path, std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<SimNode>& node = nodes_[Normalized(path)];
  if (node == nullptr) node = CreateNode(false);
  KVS_ASSERT(Resize(*node, bytes.size(), 0) == 0);
  std::copy(bytes.begin(), bytes.end(), node->bytes.begin());
}

void SimFileSystem::FlipBit(const std::string& path, uint64_t bit) {
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<SimNode> node = Lookup(Normalized(path));
  KVS_ASSERT(node != nullptr && bit < node->bytes.size() * 8);
  FlipBitAt(node->bytes.data(), bit);
}

std::vector<std::string> SimFileSystem::AllFiles() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> paths;
  for (const auto& [path, node] : nodes_) {
    if (!node->directory) paths.push_back(path);
  }
  return paths;
}

size_t SimFileSystem::open_files() const {
  const std::lock_guard lock(mutex_);
  return open_.size();
}

void SimFileSystem::CloseAll() {
  const std::lock_guard lock(mutex_);
  for (const auto& [fd, file] : open_) file->node->locked = false;
  open_.clear();
}

}  // namespace kvstream::test
