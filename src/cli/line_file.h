#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "kvstream/status.h"

namespace kvstream::cli {

/// A text file that is written line by line. Not thread-safe.
class LineFile {
 public:
  /// Creates or truncates `path`. kIo.
  static Result<LineFile> Create(const std::string& path);

  /// `lines` end with '\n'. kIo, naming the file.
  Status Append(std::string_view lines);
  /// Must be called for the last lines to be sure to be in the file. kIo.
  Status Close();

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Closer> file_;
  std::string path_;
};

}  // namespace kvstream::cli
