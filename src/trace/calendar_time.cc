#include "trace/calendar_time.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace kvstream::trace {
namespace {

/// Takes digits, and the literals between them, from the front of a text.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  /// Exactly `digits` digits, a number from `min` to `max`.
  bool Digits(size_t digits, uint32_t min, uint32_t max, uint32_t& value) {
    if (rest_.size() < digits) return false;
    value = 0;
    for (const char c : rest_.substr(0, digits)) {
      if (c < '0' || c > '9') return false;
      value = value * 10 + static_cast<uint32_t>(c - '0');
    }
    rest_.remove_prefix(digits);
    return value >= min && value <= max;
  }

  bool Literal(std::string_view literal) {
    if (!rest_.starts_with(literal)) return false;
    rest_.remove_prefix(literal.size());
    return true;
  }

  size_t DigitsAhead() const {
    return std::min(rest_.find_first_not_of("0123456789"), rest_.size());
  }
  bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

constexpr size_t kFractionDigitsMax = 9;

}  // namespace

std::optional<double> ParseCalendarTime(std::string_view text) {
  Scanner scan(text);
  uint32_t year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  const bool dated = scan.Digits(4, 1970, 9999, year) && scan.Literal("-") &&
                     scan.Digits(2, 1, 12, month) && scan.Literal("-") &&
                     scan.Digits(2, 1, 31, day);
  if (!dated || !(scan.Literal(" ") || scan.Literal("T"))) return std::nullopt;
  const bool timed = scan.Digits(2, 0, 23, hour) && scan.Literal(":") &&
                     scan.Digits(2, 0, 59, minute) && scan.Literal(":") &&
                     scan.Digits(2, 0, 59, second);
  if (!timed) return std::nullopt;
  double fraction = 0;
  if (scan.Literal(".")) {
    const size_t digits = scan.DigitsAhead();
    uint32_t value = 0;
    if (digits == 0 || digits > kFractionDigitsMax) return std::nullopt;
    if (!scan.Digits(digits, 0, UINT32_MAX, value)) return std::nullopt;
    fraction = value;
    for (size_t i = 0; i < digits; ++i) fraction /= 10;
  }
  if (!scan.Literal("Z")) scan.Literal("+00:00");
  const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(year)),
                                         std::chrono::month(month), std::chrono::day(day));
  if (!scan.done() || !date.ok()) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return static_cast<double>(int64_t{days} * 86'400 + hour * 3600 + minute * 60 + second) +
         fraction;
}

}  // namespace kvstream::trace
