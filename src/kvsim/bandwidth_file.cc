#include "kvsim/bandwidth_file.h"

#include <array>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "kvsim/settings.h"
#include "trace/files.h"

namespace kvstream::kvsim {
namespace {

constexpr std::string_view kHeader = "t,tier,read_GBps,write_GBps";
constexpr double kBytesPerGb = 1e9;
constexpr size_t kColumns = 4;

using Row = std::array<std::string_view, kColumns>;

std::optional<Row> SplitRow(std::string_view line) {
  Row row;
  for (size_t column = 0; column < kColumns; ++column) {
    const size_t comma = line.find(',');
    if ((comma == std::string_view::npos) != (column + 1 == kColumns)) return std::nullopt;
    row[column] = line.substr(0, comma);
    if (comma != std::string_view::npos) line.remove_prefix(comma + 1);
  }
  return row;
}

Error Refuse(std::string_view name, size_t line, std::string_view what) {
  return Error(ErrorCode::kInvalidArgument, fmt::format("{}:{}: {}", name, line, what));
}

Result<sim::PointsShape::Point> ParsePoint(const Row& row) {
  KVS_TRY_ASSIGN(const double at_s, ParseNumber(row[0]));
  KVS_TRY_ASSIGN(const double read, ParseNumber(row[2]));
  KVS_TRY_ASSIGN(const double write, ParseNumber(row[3]));
  if (at_s < 0 || read < 0 || write < 0) {
    return Error(ErrorCode::kInvalidArgument, "times and bandwidths must not be negative");
  }
  return sim::PointsShape::Point{at_s, {.read = read * kBytesPerGb, .write = write * kBytesPerGb}};
}

}  // namespace

Result<sim::PointsShape> ParseBandwidthFile(std::string_view name, std::string_view text,
                                            std::string_view tier) {
  sim::PointsShape shape;
  size_t number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++number;
    if (number == 1) {
      if (line != kHeader) return Refuse(name, 1, fmt::format("expected the header {}", kHeader));
      continue;
    }
    if (line.empty()) continue;
    const std::optional<Row> row = SplitRow(line);
    if (!row) return Refuse(name, number, "expected four columns");
    auto point = ParsePoint(*row);
    if (!point) return Refuse(name, number, point.error().message());
    if ((*row)[1] != tier) continue;
    if (!shape.points.empty() && point->at_s <= shape.points.back().at_s) {
      return Refuse(name, number, "times of a tier must ascend");
    }
    shape.points.push_back(*point);
  }
  if (shape.points.empty()) return Refuse(name, 1, fmt::format("no row of tier {}", tier));
  return shape;
}

Result<sim::PointsShape> ReadBandwidthFile(const std::string& path, std::string_view tier) {
  KVS_TRY_ASSIGN(const std::string text, trace::ReadTextFile(path));
  return ParseBandwidthFile(path, text, tier);
}

}  // namespace kvstream::kvsim
