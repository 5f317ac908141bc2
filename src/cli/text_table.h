#pragma once

#include <string>
#include <vector>

namespace kvstream::cli {

/// Plain-text table: first column to the left, the others to the right, two spaces between, a line
/// under the header. Cells are ASCII. Not thread-safe.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header);

  /// A short row is filled with empty cells; more cells than the header has is a programmer's
  /// error.
  void AddRow(std::vector<std::string> cells);

  /// All lines, each ended by '\n', without trailing spaces.
  std::string Render() const;

 private:
  std::vector<std::vector<std::string>> rows_;  // rows_[0] is the header
};

}  // namespace kvstream::cli
