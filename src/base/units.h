#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "kvstream/status.h"

namespace kvstream::base {

// Numbers with units, as people write them on a command line or in a configuration file.
//
// A number is decimal digits with an optional fraction ("10", "1.5"), then, after at most one
// space, a unit of exactly the spelling below. Signs, exponents, "inf", "nan", trailing text,
// overflow and a non-zero amount that rounds to zero are kInvalidArgument; the message names the
// text and the units. Pure functions; any thread.

/// Bytes: B KB MB GB TB (powers of 1000), KiB MiB GiB TiB (powers of 1024); no unit means bytes.
Result<uint64_t> ParseBytes(std::string_view text);

/// Bytes per second: a unit of ParseBytes followed by "/s"; the unit is required.
Result<uint64_t> ParseBandwidth(std::string_view text);

/// ns us ms s min h; the unit is required, except that "0" is zero.
Result<std::chrono::nanoseconds> ParseDuration(std::string_view text);

/// Three significant digits in the largest binary unit that fits: "600 MiB", "1.5 GiB".
std::string FormatBytes(uint64_t bytes);
/// "600 MiB/s". `bytes_per_second` must be finite and not negative.
std::string FormatBandwidth(double bytes_per_second);
/// Three significant digits in ns, us, ms or s: "20 ms", "1.5 us", "-2 s".
std::string FormatDuration(std::chrono::nanoseconds duration);

}  // namespace kvstream::base
