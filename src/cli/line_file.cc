#include "cli/line_file.h"

#include <cerrno>
#include <cstring>

#include <fmt/core.h>

#include "base/assert.h"

namespace kvstream::cli {
namespace {

Error WriteError(const std::string& path) {
  return {ErrorCode::kIo, fmt::format("write {}: {}", path, std::strerror(errno)), errno};
}

}  // namespace

Result<LineFile> LineFile::Create(const std::string& path) {
  LineFile file;
  file.path_ = path;
  file.file_.reset(std::fopen(path.c_str(), "we"));
  if (file.file_ == nullptr) return WriteError(path);
  return file;
}

Status LineFile::Append(std::string_view lines) {
  KVS_ASSERT(file_ != nullptr);
  if (std::fwrite(lines.data(), 1, lines.size(), file_.get()) == lines.size()) return {};
  return WriteError(path_);
}

Status LineFile::Close() {
  if (std::fclose(file_.release()) == 0) return {};
  return WriteError(path_);
}

}  // namespace kvstream::cli
