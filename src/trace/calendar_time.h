#pragma once

#include <optional>
#include <string_view>

namespace kvstream::trace {

/// Seconds from 1970 to "2023-11-16 18:15:46.6805900": date, a space or 'T', time of day, up to
/// nine fractional digits, then nothing, "Z" or "+00:00". None if it is anything else. Exact to a
/// microsecond. Pure.
std::optional<double> ParseCalendarTime(std::string_view text);

}  // namespace kvstream::trace
