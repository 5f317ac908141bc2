#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvstream/status.h"

namespace kvstream::trace {

/// Goes through comma-separated text with a header (RFC 4180, but no line breaks inside quotes) and
/// names file and line in every error. Blank lines are skipped. Not thread-safe.
class CsvLines {
 public:
  using Row = std::vector<std::string>;

  /// Inclusive limits of an integer.
  struct Range {
    uint64_t min = 0;
    uint64_t max = UINT64_MAX;
  };

  CsvLines(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {}

  /// To be called first. kInvalidArgument if there is none.
  Status ReadHeader();
  const Row& header() const { return header_; }
  bool HasColumn(std::string_view column) const { return Find(column).has_value(); }
  /// Its place in every row; kInvalidArgument if there is none.
  Result<size_t> Column(std::string_view column) const;

  /// The next row, with as many values as the header; none at the end.
  Result<std::optional<Row>> Next();

  /// kInvalidArgument "<name>:<line>: <what>"; without a line before the first one.
  Error Fail(std::string_view what) const;
  /// `what` names the value in the error.
  Result<uint64_t> Integer(std::string_view text, std::string_view what, Range range) const;
  /// A number from 0 to 1e15.
  Result<double> Number(std::string_view text, std::string_view what) const;

 private:
  std::optional<size_t> Find(std::string_view column) const;
  std::optional<std::string_view> NextLine();
  Result<Row> Split(std::string_view line) const;

  std::string name_;
  std::string text_;
  size_t offset_ = 0;
  uint64_t line_ = 0;
  Row header_;
};

}  // namespace kvstream::trace
