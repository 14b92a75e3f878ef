// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/side_by_side.h"

#include <algorithm>
#include <utility>

namespace attnrun::ops {

SideBySide::SideBySide(std::vector<StoredMatrix> parts) : parts_(std::move(parts)) {
  for (const StoredMatrix& part : parts_) columns_ += part.columns;
}

void SideBySide::Copy(int64_t row, int64_t rows, int64_t column, int64_t columns, float* to,
                      int64_t width) const {
  const int64_t end = column + columns;
  int64_t first = 0;
  for (const StoredMatrix& part : parts_) {
    const int64_t from = std::max(column, first);
    const int64_t count = std::min(end, first + part.columns) - from;
    if (count > 0) CopyBlock(part, row, rows, from - first, count, to + from - column, width);
    first += part.columns;
  }
}

}  // namespace attnrun::ops
