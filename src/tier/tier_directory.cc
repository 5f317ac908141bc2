#include "tier/tier_directory.h"

#include <fcntl.h>

#include <array>
#include <cerrno>

#include <fmt/format.h>

#include "base/assert.h"
#include "chunk/path.h"
#include "tier/layout.h"
#include "tier/namespace_file.h"

namespace kvstream::tier {
namespace {

constexpr int kTempAttempts = 8;
// Footer and at least one block of padded payload.
constexpr uint64_t kFileBytesMin = 2 * chunk::kAlignBytes;
constexpr uint64_t kFileBytesMax = kChunkBytesMax + chunk::kFooterBytes;

}  // namespace

Status TierDirectory::CreateNamespace(const Identity& identity) {
  const std::string text = EncodeNamespace(identity);
  if (identity.model.empty()) {
    return Error(ErrorCode::kInvalidArgument, "an identity needs a model");
  }
  if (text.size() > kNamespaceFileBytesMax) {
    return Error(ErrorCode::kInvalidArgument, "the identity's fields are too long");
  }
  const chunk::Fingerprint fingerprint = chunk::Fingerprint::Of(identity);
  const std::string directory = NamespacePath(fingerprint);
  const std::string path = directory + "/" + kNamespaceFileName;
  const std::lock_guard lock(control_mutex_);
  KVS_TRY(CheckPresent());  // never under a mount point whose tier has gone
  KVS_TRY(files_.EnsureDirectory(directory));
  const Result<std::string> found = files_.ReadWhole(path, kNamespaceFileBytesMax);
  if (found) {
    const Result<NamespaceRecord> record = DecodeNamespace(*found);
    if (record && record->fingerprint == fingerprint) return {};
    if (record) return files_.Refused(ErrorCode::kCorruption, path, "another identity's");
    if (record.error().code() == ErrorCode::kUnsupported) return files_.Blame(record.error(), path);
  } else if (found.error().code() != ErrorCode::kNotFound) {
    return found.error().Clone();
  }
  return files_.WriteDurably(path, OwnerPath(kControlTempSuffix), text);
}

std::string TierDirectory::ChunkPath(const chunk::Fingerprint& fingerprint,
                                     const ChunkKey& key) const {
  return fmt::format("{}/{}/{}", NamespacePath(fingerprint), chunk::FanOut(key),
                     chunk::ChunkFileName(key));
}

Result<TempFile> TierDirectory::CreateTemp(const chunk::Fingerprint& fingerprint,
                                           const ChunkKey& key, bool direct, uint64_t file_bytes) {
  const std::string directory =
      fmt::format("{}/{}", NamespacePath(fingerprint), chunk::FanOut(key));
  const int flags = O_RDWR | O_CREAT | O_EXCL | (direct ? O_DIRECT : 0);
  TempFile temp;
  for (int attempt = 0; attempt < kTempAttempts; ++attempt) {
    const uint64_t nonce = nonce_first_ + nonces_used_.fetch_add(1, std::memory_order_relaxed);
    temp.path = fmt::format("{}/{}", directory, chunk::TempFileName(key, options_.owner, nonce));
    temp.fd = file_system_.Open(temp.path, flags);
    if (temp.fd == -ENOENT) {
      const int made = file_system_.MakeDirectory(directory);
      if (made < 0 && made != -EEXIST) return files_.Failed("create directory", directory, made);
      temp.fd = file_system_.Open(temp.path, flags);
    }
    if (temp.fd != -EEXIST) break;
  }
  if (temp.fd < 0) {
    // open(2) may create the file and then refuse O_DIRECT.
    if (temp.fd == -EINVAL) static_cast<void>(file_system_.Unlink(temp.path));
    return files_.Failed("create", temp.path, temp.fd);
  }
  int result = file_system_.Allocate(temp.fd, file_bytes);
  if (result == -EOPNOTSUPP) result = 0;
  if (result == 0) result = file_system_.Truncate(temp.fd, file_bytes);
  if (result == 0) return temp;
  static_cast<void>(file_system_.Close(temp.fd));  // the first error is the one to tell
  static_cast<void>(file_system_.Unlink(temp.path));
  return files_.Failed("reserve space for", temp.path, result);
}

int TierDirectory::Publish(const std::string& temp_path, const chunk::Fingerprint& fingerprint,
                           const ChunkKey& key) {
  return file_system_.Rename(temp_path, ChunkPath(fingerprint, key));
}

int TierDirectory::DiscardTemp(const std::string& temp_path) {
  return file_system_.Unlink(temp_path);
}

int TierDirectory::RemoveChunk(const chunk::Fingerprint& fingerprint, const ChunkKey& key) {
  return file_system_.Unlink(ChunkPath(fingerprint, key));
}

Result<OpenedChunk> TierDirectory::OpenChunk(const chunk::Fingerprint& fingerprint,
                                             const ChunkKey& key, bool direct) const {
  const std::string path = ChunkPath(fingerprint, key);
  // Looked at before it is opened, since opening a FIFO waits for its writer; O_NONBLOCK would stay
  // on the file and make io_uring fail reads with EAGAIN where a file system cannot do them without
  // waiting.
  io::FileInfo info;
  if (const int result = file_system_.Stat(path, &info); result < 0) {
    return files_.Failed("stat", path, result);
  }
  if (!info.regular) return files_.Refused(ErrorCode::kCorruption, path, "not a regular file");
  ReadHandle file(file_system_, file_system_.Open(path, O_RDONLY | (direct ? O_DIRECT : 0)));
  if (file.fd() < 0) return files_.Failed("open", path, file.fd());
  // What was opened need not be what was looked at.
  if (const int result = file_system_.StatFd(file.fd(), &info); result < 0) {
    return files_.Failed("stat", path, result);
  }
  if (!info.regular || info.links > 1) {
    return files_.Refused(ErrorCode::kCorruption, path, "not a regular file of one name");
  }
  if (info.bytes < kFileBytesMin || info.bytes > kFileBytesMax ||
      info.bytes % chunk::kAlignBytes != 0) {
    return files_.Refused(ErrorCode::kCorruption, path,
                          fmt::format("a length of {} bytes", info.bytes));
  }
  return OpenedChunk{file.Release(), info.bytes};
}

Result<chunk::DecodedFooter> TierDirectory::ReadFooter(int fd, uint64_t file_bytes,
                                                       NamespaceId ns) const {
  KVS_ASSERT(file_bytes >= kFileBytesMin && file_bytes % chunk::kAlignBytes == 0);
  alignas(chunk::kAlignBytes) std::array<std::byte, chunk::kFooterBytes> bytes;
  const int64_t read = file_system_.Read(fd, bytes, file_bytes - chunk::kFooterBytes);
  if (read < 0) {
    return Error(ErrorCode::kIo, "read the footer", static_cast<int>(-read), options_.name);
  }
  if (static_cast<size_t>(read) != bytes.size()) {
    return Error(ErrorCode::kCorruption, "the file ends within its footer", 0, options_.name);
  }
  Result<chunk::DecodedFooter> footer = chunk::DecodeFooter(bytes, ns);
  if (!footer) return Error(footer.error().code(), footer.error().message(), 0, options_.name);
  if (footer->meta->FileBytes() != file_bytes) {
    return Error(ErrorCode::kCorruption,
                 fmt::format("footer: of a file of {} bytes, in one of {}",
                             footer->meta->FileBytes(), file_bytes),
                 0, options_.name);
  }
  return footer;
}

Result<chunk::DecodedFooter> TierDirectory::FindChunk(const chunk::Fingerprint& fingerprint,
                                                      const ChunkKey& key, NamespaceId ns) const {
  KVS_TRY_ASSIGN(const OpenedChunk opened, OpenChunk(fingerprint, key, false));
  const ReadHandle file(file_system_, opened.fd);
  const std::string path = ChunkPath(fingerprint, key);
  Result<chunk::DecodedFooter> footer = ReadFooter(file.fd(), opened.file_bytes, ns);
  if (!footer) return files_.Blame(footer.error(), path);
  if (footer->meta->key != key) {
    return files_.Refused(ErrorCode::kCorruption, path, "footer: of another key");
  }
  if (footer->fingerprint != fingerprint) {
    return files_.Refused(ErrorCode::kCorruption, path, "footer: of another namespace");
  }
  return footer;
}

// A snapshot's name says whether it is clean: renaming is atomic where rewriting a flag is not.
Status TierDirectory::WriteSnapshot(const Snapshot& snapshot, bool clean) {
  const std::lock_guard lock(control_mutex_);
  const std::string temp_path = OwnerPath(kControlTempSuffix);
  const std::string path = OwnerPath(clean ? kCleanSnapshotSuffix : kStaleSnapshotSuffix);
  const std::string other = OwnerPath(clean ? kStaleSnapshotSuffix : kCleanSnapshotSuffix);
  KVS_TRY_ASSIGN(const int fd, files_.CreateFresh(temp_path));
  const int written = WriteSnapshotFile(file_system_, fd, {uuid_, options_.owner}, snapshot);
  KVS_TRY(files_.Commit(fd, temp_path, path, written));
  const int removed = file_system_.Unlink(other);
  if (removed < 0 && removed != -ENOENT) return files_.Failed("remove", other, removed);
  return {};
}

Result<Snapshot> TierDirectory::LoadSnapshot() const {
  Result<Snapshot> snapshot = LoadSnapshotFrom(OwnerPath(kCleanSnapshotSuffix));
  if (snapshot) {
    snapshot->clean = true;
    return snapshot;
  }
  if (snapshot.error().code() != ErrorCode::kNotFound) return snapshot;
  return LoadSnapshotFrom(OwnerPath(kStaleSnapshotSuffix));
}

Status TierDirectory::MarkSnapshotStale() {
  const std::lock_guard lock(control_mutex_);
  const std::string path = OwnerPath(kCleanSnapshotSuffix);
  const int result = file_system_.Rename(path, OwnerPath(kStaleSnapshotSuffix));
  if (result == -ENOENT) return {};
  if (result < 0) return files_.Failed("rename", path, result);
  return files_.SyncDirectory(options_.directory + "/" + kOwnersDirectoryName);
}

std::string TierDirectory::NamespacePath(const chunk::Fingerprint& fingerprint) const {
  return fmt::format("{}/{}", options_.directory, chunk::NamespaceDirectoryName(fingerprint));
}

std::string TierDirectory::OwnerPath(std::string_view suffix) const {
  return fmt::format("{}/{}/{}{}", options_.directory, kOwnersDirectoryName, options_.owner,
                     suffix);
}

Result<Snapshot> TierDirectory::LoadSnapshotFrom(const std::string& path) const {
  io::FileInfo info;
  if (const int result = file_system_.Stat(path, &info); result < 0) {
    return files_.Failed("stat", path, result);
  }
  if (!info.regular) return files_.Refused(ErrorCode::kCorruption, path, "not a regular file");
  const ReadHandle file(file_system_, file_system_.Open(path, O_RDONLY));
  if (file.fd() < 0) return files_.Failed("open", path, file.fd());
  Result<Snapshot> snapshot = ReadSnapshotFile(file_system_, file.fd(), {uuid_, options_.owner});
  if (!snapshot) return files_.Blame(snapshot.error(), path);
  return snapshot;
}

bool TierDirectory::IsNonceOfThisRun(uint64_t nonce) const {
  return nonce - nonce_first_ < nonces_used_.load(std::memory_order_relaxed);
}

}  // namespace kvstream::tier
