#include "cli/text_table.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace kvstream::cli {
namespace {

std::string RenderLine(const std::vector<std::string>& cells, const std::vector<size_t>& widths) {
  std::string line;
  for (size_t column = 0; column < cells.size(); ++column) {
    const std::string padding(widths[column] - cells[column].size(), ' ');
    if (column > 0) line += "  ";
    line += column == 0 ? cells[column] + padding : padding + cells[column];
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

}  // namespace

TextTable::TextTable(std::vector<std::string> header) {
  KVS_ASSERT(!header.empty());
  rows_.push_back(std::move(header));
}

void TextTable::AddRow(std::vector<std::string> cells) {
  KVS_ASSERT(cells.size() <= rows_[0].size());
  cells.resize(rows_[0].size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::Render() const {
  std::vector<size_t> widths(rows_[0].size(), 0);
  for (const auto& row : rows_) {
    for (size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  size_t line_chars = 2 * (widths.size() - 1);
  for (size_t width : widths) line_chars += width;

  std::string text = RenderLine(rows_[0], widths) + std::string(line_chars, '-') + '\n';
  for (size_t row = 1; row < rows_.size(); ++row) text += RenderLine(rows_[row], widths);
  return text;
}

}  // namespace kvstream::cli
