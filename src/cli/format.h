#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kvstream::cli {

/// 0.0123 as "1.23 %".
std::string FormatPercent(double fraction);

/// As base::FormatDuration. `seconds` is finite, below 292 years.
std::string FormatSeconds(double seconds);

/// Breaks text at spaces into lines of at most `columns`, each ended by '\n'; a longer word gets a
/// line of its own.
std::string WrapText(std::string_view text, size_t columns);

}  // namespace kvstream::cli
