#pragma once

#include <string>

namespace kvstream::cli {

/// 0.0123 as "1.23 %".
std::string FormatPercent(double fraction);

/// As base::FormatDuration. `seconds` is finite, below 292 years.
std::string FormatSeconds(double seconds);

}  // namespace kvstream::cli
