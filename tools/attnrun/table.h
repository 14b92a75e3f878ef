// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_TABLE_H_
#define ATTNRUN_TOOLS_ATTNRUN_TABLE_H_

#include <string>
#include <vector>

namespace attnrun::cli {

// Rows of text with aligned columns.
class Table {
 public:
  // `alignment` has one letter per column: 'l' or 'r'.
  explicit Table(std::string alignment) : alignment_(std::move(alignment)) {}

  // Makes cells printable. Missing cells at the end of a row are empty.
  void Add(const std::vector<std::string>& cells);
  // The table as text, with two spaces between columns and none at the end of a line.
  std::string Text() const;

 private:
  std::string alignment_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_TABLE_H_
