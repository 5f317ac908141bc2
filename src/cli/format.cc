#include "cli/format.h"

#include <chrono>
#include <cstdint>

#include <fmt/core.h>

#include "base/units.h"

namespace kvstream::cli {

std::string FormatPercent(double fraction) { return fmt::format("{:.2f} %", fraction * 100); }

std::string FormatSeconds(double seconds) {
  return base::FormatDuration(std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9)));
}

}  // namespace kvstream::cli
