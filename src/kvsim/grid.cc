#include "kvsim/grid.h"

#include <algorithm>
#include <charconv>
#include <string>

#include <fmt/core.h>

#include "base/units.h"
#include "kvsim/settings.h"

namespace kvstream::kvsim {
namespace {

constexpr uint32_t kPointsDefault = 8;
constexpr uint32_t kPointsMax = 1000;
constexpr std::string_view kDigits = "0123456789.";

Error Refuse(std::string_view text, std::string_view why) {
  return Error(
      ErrorCode::kInvalidArgument,
      fmt::format("'{}': {}; expected A,B,C or LO..HI or LO..HI/N, as in 20..160GiB/8", text, why));
}

struct Range {
  std::string low;
  std::string high;
  uint32_t points = kPointsDefault;
};

Result<Range> ParseRange(std::string_view text, size_t dots) {
  Range range;
  std::string_view rest = text.substr(dots + 2);
  if (const size_t slash = rest.find('/'); slash != std::string_view::npos) {
    const std::string_view count = rest.substr(slash + 1);
    const char* const end = count.data() + count.size();
    const auto [stop, error] = std::from_chars(count.data(), end, range.points);
    if (error != std::errc() || stop != end || range.points < 2 || range.points > kPointsMax) {
      return Refuse(text, fmt::format("N is a number from 2 to {}", kPointsMax));
    }
    rest = rest.substr(0, slash);
  }
  range.low = text.substr(0, dots);
  range.high = rest;
  const size_t unit = rest.find_first_not_of(kDigits);
  const bool low_is_bare = range.low.find_first_not_of(kDigits) == std::string::npos;
  if (low_is_bare && unit != std::string_view::npos) range.low += rest.substr(unit);
  return range;
}

template <typename Value>
Result<std::vector<Value>> ParseGrid(std::string_view text,
                                     Result<Value> (*parse)(std::string_view)) {
  std::vector<Value> values;
  if (const size_t dots = text.find(".."); dots != std::string_view::npos) {
    KVS_TRY_ASSIGN(const Range range, ParseRange(text, dots));
    KVS_TRY_ASSIGN(const Value low, parse(range.low));
    KVS_TRY_ASSIGN(const Value high, parse(range.high));
    if (!(low < high)) return Refuse(text, "LO must be below HI");
    for (uint32_t point = 0; point < range.points; ++point) {
      const double share = static_cast<double>(point) / (range.points - 1);
      const double width = static_cast<double>(high) - static_cast<double>(low);
      values.push_back(static_cast<Value>(static_cast<double>(low) + share * width));
    }
    return values;
  }
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    KVS_TRY_ASSIGN(const Value value, parse(text.substr(begin, end - begin)));
    values.push_back(value);
    if (values.size() > kPointsMax) return Refuse(text, "too many values");
    begin = end + 1;
  }
  return values;
}

}  // namespace

Result<std::vector<uint64_t>> ParseByteGrid(std::string_view text) {
  return ParseGrid<uint64_t>(text, base::ParseBytes);
}

Result<std::vector<double>> ParseNumberGrid(std::string_view text) {
  return ParseGrid<double>(text, ParseNumber);
}

}  // namespace kvstream::kvsim
