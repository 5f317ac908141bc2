#include "cli/json_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace kvstream::cli {

Status WriteJson(const std::string& path, const nlohmann::json& value) {
  const std::string text = value.dump(2) + '\n';
  std::FILE* file = path == "-" ? stdout : std::fopen(path.c_str(), "we");
  bool ok = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr) ok = (file == stdout ? std::fflush(file) : std::fclose(file)) == 0 && ok;
  if (ok) return {};
  return Error(ErrorCode::kIo, fmt::format("write {}: {}", path, std::strerror(errno)), errno);
}

}  // namespace kvstream::cli
