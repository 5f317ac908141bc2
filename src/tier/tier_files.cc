#include "tier/tier_files.h"

#include <fcntl.h>

#include <cerrno>

#include <fmt/format.h>

namespace kvstream::tier {
namespace {

ErrorCode CodeOf(int result) {
  switch (-result) {
    case ENOENT:
      return ErrorCode::kNotFound;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return ErrorCode::kNoSpace;
    default:
      return ErrorCode::kIo;
  }
}

std::string ParentOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

}  // namespace

Error TierFiles::Failed(std::string_view action, const std::string& path, int result) const {
  return Error(CodeOf(result), fmt::format("{} {}", action, path), -result, tier_);
}

Error TierFiles::Refused(ErrorCode code, const std::string& path, std::string_view what) const {
  return Error(code, fmt::format("{}: {}", path, what), 0, tier_);
}

Error TierFiles::Blame(const Error& error, const std::string& path) const {
  return Error(error.code(), fmt::format("{}: {}", path, error.message()), error.errno_value(),
               tier_);
}

Result<std::string> TierFiles::ReadWhole(const std::string& path, size_t bytes_max) const {
  // Looked at before it is opened: opening a FIFO waits for its writer.
  io::FileInfo info;
  if (const int result = file_system_.Stat(path, &info); result < 0) {
    return Failed("stat", path, result);
  }
  if (!info.regular) return Refused(ErrorCode::kCorruption, path, "not a regular file");
  const ReadHandle file(file_system_, file_system_.Open(path, O_RDONLY));
  if (file.fd() < 0) return Failed("open", path, file.fd());
  std::string text(bytes_max + 1, '\0');
  const int64_t bytes = file_system_.Read(file.fd(), std::as_writable_bytes(std::span(text)), 0);
  if (bytes < 0) return Failed("read", path, static_cast<int>(bytes));
  text.resize(static_cast<size_t>(bytes));
  if (text.size() > bytes_max) {
    return Refused(ErrorCode::kCorruption, path, fmt::format("longer than {} bytes", bytes_max));
  }
  return text;
}

Status TierFiles::WriteDurably(const std::string& path, const std::string& temp_path,
                               std::string_view text) const {
  KVS_TRY_ASSIGN(const int fd, CreateFresh(temp_path));
  const int64_t written = file_system_.Write(fd, std::as_bytes(std::span(text)), 0);
  return Commit(fd, temp_path, path, written);
}

Result<int> TierFiles::CreateFresh(const std::string& path) const {
  const int removed = file_system_.Unlink(path);
  if (removed < 0 && removed != -ENOENT) return Failed("remove", path, removed);
  const int fd = file_system_.Open(path, O_WRONLY | O_CREAT | O_EXCL);
  if (fd < 0) return Failed("create", path, fd);
  return fd;
}

Status TierFiles::Commit(int fd, const std::string& temp_path, const std::string& path,
                         int64_t written) const {
  std::string_view action = "write";
  int result = written < 0 ? static_cast<int>(written) : 0;
  if (result == 0) {
    action = "sync";
    result = file_system_.Sync(fd);
  }
  const int closed = file_system_.Close(fd);
  if (result == 0 && closed < 0) {
    action = "close";
    result = closed;
  }
  if (result == 0) {
    action = "rename";
    result = file_system_.Rename(temp_path, path);
  }
  if (result == 0) return SyncDirectory(ParentOf(path));
  static_cast<void>(file_system_.Unlink(temp_path));  // the first error is the one to tell
  return Failed(action, temp_path, result);
}

Status TierFiles::EnsureDirectory(const std::string& path) const {
  const int result = file_system_.MakeDirectory(path);
  if (result == 0) return {};
  if (result != -EEXIST) return Failed("create directory", path, result);
  io::FileInfo info;
  if (const int found = file_system_.Stat(path, &info); found < 0)
    return Failed("stat", path, found);
  if (!info.directory) return Refused(ErrorCode::kCorruption, path, "not a directory");
  return {};
}

Status TierFiles::SyncDirectory(const std::string& path) const {
  const ReadHandle directory(file_system_, file_system_.Open(path, O_RDONLY | O_DIRECTORY));
  if (directory.fd() < 0) return Failed("open", path, directory.fd());
  const int result = file_system_.Sync(directory.fd());
  // Some network file systems refuse to sync a directory; their names are durable by other means.
  if (result < 0 && result != -EINVAL && result != -EOPNOTSUPP) return Failed("sync", path, result);
  return {};
}

}  // namespace kvstream::tier
