// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/table.h"

#include <algorithm>

#include "core/quote.h"
#include "tools/attnrun/utf.h"

namespace attnrun::cli {
namespace {

// Width in characters, assuming that a terminal shows one per code point.
size_t Width(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

}  // namespace

void Table::Add(const std::vector<std::string>& cells) {
  std::vector<std::string>& row = rows_.emplace_back();
  // Limited, because all rows are as wide as the widest.
  constexpr size_t kWidest = 1000;
  for (const std::string& cell : cells) row.push_back(Printable(Shortened(cell, kWidest)));
}

std::string Table::Text() const {
  std::vector<size_t> widths(alignment_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - Width(row[i]), ' ');
      if (i > 0) line += "  ";
      line += alignment_[i] == 'r' ? space + row[i] : row[i] + space;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace attnrun::cli
