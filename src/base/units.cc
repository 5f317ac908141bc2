#include "base/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "base/assert.h"

namespace kvstream::base {
namespace {

struct Unit {
  std::string_view name;
  uint64_t factor;
};

constexpr uint64_t kBinary = 1024;
constexpr std::array<Unit, 9> kByteUnits{{
    {"B", 1},
    {"KB", 1000},
    {"MB", 1000'000},
    {"GB", 1000'000'000},
    {"TB", 1000'000'000'000},
    {"KiB", kBinary},
    {"MiB", kBinary* kBinary},
    {"GiB", kBinary* kBinary* kBinary},
    {"TiB", kBinary* kBinary* kBinary* kBinary},
}};
constexpr std::array<Unit, 6> kTimeUnits{{
    {"ns", 1},
    {"us", 1000},
    {"ms", 1000'000},
    {"s", 1000'000'000},
    {"min", 60'000'000'000},
    {"h", 3600'000'000'000},
}};

struct Number {
  uint64_t whole = 0;
  double fraction = 0;      // in [0, 1)
  std::string_view suffix;  // what follows the number
};

// Whole part and fraction apart, so that integers above 2^53 stay exact.
std::optional<Number> SplitNumber(std::string_view text) {
  Number number;
  const char* const end = text.data() + text.size();
  const auto whole = std::from_chars(text.data(), end, number.whole);
  if (whole.ec != std::errc{}) return std::nullopt;
  const char* at = whole.ptr;
  if (at != end && *at == '.') {
    if (at + 1 == end || at[1] < '0' || at[1] > '9') return std::nullopt;
    const auto fraction = std::from_chars(at, end, number.fraction, std::chars_format::fixed);
    // Too small for a double: the digits still count as not zero.
    if (fraction.ec != std::errc{}) number.fraction = std::numeric_limits<double>::min();
    at = fraction.ptr;
  }
  number.suffix = {at, static_cast<size_t>(end - at)};
  return number;
}

std::optional<uint64_t> FactorOf(std::string_view unit, std::span<const Unit> units) {
  for (const Unit& candidate : units) {
    if (candidate.name == unit) return candidate.factor;
  }
  return std::nullopt;
}

std::optional<uint64_t> Scale(const Number& number, uint64_t factor, uint64_t limit) {
  if (factor == 1 && number.fraction != 0) return std::nullopt;  // half a byte
  if (number.whole > limit / factor) return std::nullopt;
  const auto part =
      static_cast<uint64_t>(std::llround(number.fraction * static_cast<double>(factor)));
  const uint64_t whole = number.whole * factor;
  if (part > limit - whole) return std::nullopt;
  if (whole + part == 0 && number.fraction != 0) return std::nullopt;
  return whole + part;
}

std::string ExpectedForms(std::span<const Unit> units, std::string_view per) {
  std::string text = "a number with one of the units";
  for (const Unit& unit : units) text += fmt::format(" {}{}", unit.name, per);
  return text;
}

struct Grammar {
  std::string_view what;
  std::span<const Unit> units;
  std::string_view per;           // follows the unit, for example "/s"
  bool unit_is_optional = false;  // without one the factor is 1
  uint64_t limit = std::numeric_limits<uint64_t>::max();
};

std::optional<uint64_t> Parse(std::string_view text, const Grammar& grammar) {
  const std::optional<Number> number = SplitNumber(text);
  if (!number) return std::nullopt;
  std::string_view suffix = number->suffix;
  if (suffix.empty()) {
    return grammar.unit_is_optional ? Scale(*number, 1, grammar.limit) : std::nullopt;
  }
  if (suffix.front() == ' ') suffix.remove_prefix(1);
  if (!suffix.ends_with(grammar.per)) return std::nullopt;
  suffix.remove_suffix(grammar.per.size());
  const std::optional<uint64_t> factor = FactorOf(suffix, grammar.units);
  return factor ? Scale(*number, *factor, grammar.limit) : std::nullopt;
}

Result<uint64_t> ParseOrExplain(std::string_view text, const Grammar& grammar) {
  const std::optional<uint64_t> value = Parse(text, grammar);
  if (value) return *value;
  return Error(
      ErrorCode::kInvalidArgument,
      fmt::format("'{}' is not {}: expected {}{}, up to {} in all", text, grammar.what,
                  ExpectedForms(grammar.units, grammar.per),
                  grammar.unit_is_optional ? ", or a whole number of bytes" : "", grammar.limit));
}

// Three significant digits, no trailing zeros, no exponent.
std::string ThreeDigits(double value) {
  const int decimals = value < 10 ? 2 : value < 100 ? 1 : 0;
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (decimals > 0) {
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

std::string FormatBinary(double bytes) {
  static constexpr std::array<const char*, 7> kNames{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t index = 0;
  // 1023.5 would be printed as 1024.
  while (bytes >= 1023.5 && index + 1 < kNames.size()) {
    bytes /= 1024;
    ++index;
  }
  return fmt::format("{} {}", ThreeDigits(bytes), kNames[index]);
}

}  // namespace

Result<uint64_t> ParseBytes(std::string_view text) {
  return ParseOrExplain(
      text,
      {.what = "an amount of bytes", .units = kByteUnits, .per = "", .unit_is_optional = true});
}

Result<uint64_t> ParseBandwidth(std::string_view text) {
  return ParseOrExplain(text, {.what = "a bandwidth", .units = kByteUnits, .per = "/s"});
}

Result<std::chrono::nanoseconds> ParseDuration(std::string_view text) {
  if (text == "0") return std::chrono::nanoseconds(0);
  KVS_TRY_ASSIGN(const uint64_t count,
                 ParseOrExplain(text, {.what = "a duration",
                                       .units = kTimeUnits,
                                       .per = "",
                                       .limit = std::numeric_limits<int64_t>::max()}));
  return std::chrono::nanoseconds(static_cast<int64_t>(count));
}

std::string FormatBytes(uint64_t bytes) { return FormatBinary(static_cast<double>(bytes)); }

std::string FormatBandwidth(double bytes_per_second) {
  KVS_ASSERT(std::isfinite(bytes_per_second) && bytes_per_second >= 0);
  return FormatBinary(bytes_per_second) + "/s";
}

std::string FormatDuration(std::chrono::nanoseconds duration) {
  static constexpr std::array<const char*, 4> kNames{"ns", "us", "ms", "s"};
  double value = std::abs(static_cast<double>(duration.count()));
  size_t index = 0;
  // 999.5 would be printed as 1000.
  while (value >= 999.5 && index + 1 < kNames.size()) {
    value /= 1000;
    ++index;
  }
  return fmt::format("{}{} {}", duration.count() < 0 ? "-" : "", ThreeDigits(value), kNames[index]);
}

}  // namespace kvstream::base
