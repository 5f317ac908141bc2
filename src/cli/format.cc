#include "cli/format.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <fmt/core.h>

#include "base/units.h"

namespace kvstream::cli {

std::string FormatPercent(double fraction) { return fmt::format("{:.2f} %", fraction * 100); }

std::string FormatSeconds(double seconds) {
  return base::FormatDuration(std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9)));
}

std::string WrapText(std::string_view text, size_t columns) {
  std::string wrapped;
  size_t used = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (used > 0 && used + 1 + word.size() > columns) {
      wrapped += '\n';
      used = 0;
    }
    if (used > 0) wrapped += ' ';
    wrapped += word;
    used += word.size() + (used > 0 ? 1 : 0);
  }
  return wrapped + '\n';
}

}  // namespace kvstream::cli
