#include "trace/csv_lines.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace kvstream::trace {
namespace {

constexpr double kNumberMax = 1e15;
constexpr size_t kShownBytesMax = 40;  // of a value in an error

std::string_view Shown(std::string_view text) { return text.substr(0, kShownBytesMax); }

/// All of `text`, and nothing but a decimal number.
template <typename Number>
bool ParseWhole(std::string_view text, Number& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  return code == std::errc{} && stop == end;
}

}  // namespace

Error CsvLines::Fail(std::string_view what) const {
  const std::string place = line_ == 0 ? name_ : fmt::format("{}:{}", name_, line_);
  return Error(ErrorCode::kInvalidArgument, fmt::format("{}: {}", place, what));
}

std::optional<std::string_view> CsvLines::NextLine() {
  while (offset_ < text_.size()) {
    const std::string_view rest = std::string_view(text_).substr(offset_);
    std::string_view line = rest.substr(0, rest.find('\n'));
    offset_ += line.size() + 1;
    ++line_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") != std::string_view::npos) return line;
  }
  return std::nullopt;
}

Result<CsvLines::Row> CsvLines::Split(std::string_view line) const {
  Row row(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"') {
      const bool doubled = i + 1 < line.size() && line[i + 1] == '"';
      if (doubled) row.back() += line[++i];
      quoted = doubled;
    } else if (quoted) {
      row.back() += c;
    } else if (c == '"' && row.back().empty()) {
      quoted = true;
    } else if (c == ',') {
      row.emplace_back();
    } else {
      row.back() += c;
    }
  }
  if (quoted) return Fail("a quote is not closed on its line");
  return row;
}

Status CsvLines::ReadHeader() {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text_.starts_with(kByteOrderMark)) offset_ = kByteOrderMark.size();
  const std::optional<std::string_view> line = NextLine();
  if (!line) return Fail("the file is empty; expected a header and rows of values");
  KVS_TRY_ASSIGN(header_, Split(*line));
  return {};
}

std::optional<size_t> CsvLines::Find(std::string_view column) const {
  const auto found = std::find(header_.begin(), header_.end(), column);
  if (found == header_.end()) return std::nullopt;
  return static_cast<size_t>(found - header_.begin());
}

Result<size_t> CsvLines::Column(std::string_view column) const {
  const std::optional<size_t> found = Find(column);
  if (!found) return Fail(fmt::format("column '{}' is missing", column));
  return *found;
}

Result<std::optional<CsvLines::Row>> CsvLines::Next() {
  const std::optional<std::string_view> line = NextLine();
  if (!line) return std::optional<Row>();
  KVS_TRY_ASSIGN(Row row, Split(*line));
  if (row.size() != header_.size()) {
    return Fail(fmt::format("{} values under a header of {} columns", row.size(), header_.size()));
  }
  return std::optional<Row>(std::move(row));
}

Result<uint64_t> CsvLines::Integer(std::string_view text, std::string_view what,
                                   Range range) const {
  uint64_t value = 0;
  if (!ParseWhole(text, value) || value < range.min || value > range.max) {
    return Fail(fmt::format("'{}' must be an integer from {} to {}, not '{}'", what, range.min,
                            range.max, Shown(text)));
  }
  return value;
}

Result<double> CsvLines::Number(std::string_view text, std::string_view what) const {
  double value = 0;
  if (!ParseWhole(text, value) || !(value >= 0 && value <= kNumberMax)) {
    return Fail(fmt::format("'{}' must be a number from 0 to {:g}, not '{}'", what, kNumberMax,
                            Shown(text)));
  }
  return value;
}

}  // namespace kvstream::trace
