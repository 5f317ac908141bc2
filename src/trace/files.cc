#include "trace/files.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "trace/gunzip.h"

namespace kvstream::trace {
namespace {

namespace fs = std::filesystem;

Error FileError(const std::error_code& reason, std::string_view what, const std::string& path) {
  const bool missing = reason == std::errc::no_such_file_or_directory;
  return Error(missing ? ErrorCode::kNotFound : ErrorCode::kIo,
               fmt::format("{} {}: {}", what, path, reason.message()), reason.value());
}

Error FileError(int errno_value, std::string_view what, const std::string& path) {
  return FileError(std::error_code(errno_value, std::generic_category()), what, path);
}

Error TooLarge(std::string_view name) {
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("{}: larger than 4 GiB; split the trace", name));
}

Result<std::string> ReadBytes(const std::string& path) {
  const auto close = [](std::FILE* file) { static_cast<void>(std::fclose(file)); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "rb"), close);
  if (file == nullptr) return FileError(errno, "open", path);
  constexpr size_t kStepBytes = size_t{1} << 20;
  std::string contents;
  while (true) {
    const size_t before = contents.size();
    contents.resize(before + kStepBytes);
    errno = 0;
    const size_t got = std::fread(contents.data() + before, 1, kStepBytes, file.get());
    contents.resize(before + got);
    if (std::ferror(file.get()) != 0) return FileError(errno, "read", path);
    if (got < kStepBytes) return contents;
    if (contents.size() > kFileBytesMax) return TooLarge(path);
  }
}

}  // namespace

Result<std::string> UnpackText(const std::string& name, std::string contents) {
  if (contents.size() > kFileBytesMax) return TooLarge(name);
  if (!IsGzip(contents)) return contents;
  Result<std::string> text = Gunzip(contents);
  if (!text) return std::move(text).error().WithContext(name);
  if (text->size() > kFileBytesMax) return TooLarge(name);
  return text;
}

Result<std::string> ReadTextFile(const std::string& path) {
  KVS_TRY_ASSIGN(std::string contents, ReadBytes(path));
  return UnpackText(path, std::move(contents));
}

bool IsDirectory(const std::string& path) {
  std::error_code ignored;  // what cannot be looked at fails when it is opened
  return fs::is_directory(path, ignored);
}

Result<std::vector<std::string>> FilesIn(const std::string& directory,
                                         const std::vector<std::string>& endings) {
  std::vector<std::string> paths;
  std::error_code error;
  fs::directory_iterator entries(directory, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string path = entries->path().string();
    const bool wanted = std::any_of(endings.begin(), endings.end(), [&](const std::string& ending) {
      return path.ends_with(ending);
    });
    std::error_code unreadable;
    if (wanted && entries->is_regular_file(unreadable)) paths.push_back(path);
    if (unreadable) return FileError(unreadable, "read", path);
  }
  if (error) return FileError(error, "list", directory);
  if (paths.empty()) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("{}: no file ends in {}", directory, fmt::join(endings, " or ")));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace kvstream::trace
