#pragma once

#include <cstdio>
#include <string_view>

#include "kvstream/engine.h"

namespace kvstream::cli {

/// One line that is overwritten in place, at most twice a second, and only where `enabled` (a
/// terminal). Not thread-safe.
class Progress {
 public:
  /// `out` outlives the object.
  Progress(std::FILE* out, bool enabled) : out_(out), enabled_(enabled) {}
  /// On stderr where that is a terminal.
  static Progress OnTerminal();

  void Update(TimePoint now, std::string_view line);
  /// Removes the line, so that other output can follow.
  void Clear();

 private:
  std::FILE* out_;
  bool enabled_;
  size_t shown_chars_ = 0;
  TimePoint next_ = TimePoint::min();
};

}  // namespace kvstream::cli
