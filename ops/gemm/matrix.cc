// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/matrix.h"

#include <algorithm>

namespace attnrun::ops {
namespace {

// For contiguous rows of `from`.
void CopyRows(const MatrixView& from, int64_t row, int64_t rows, int64_t column, int64_t columns,
              float* to, int64_t width) {
  for (int64_t i = 0; i < rows; ++i) {
    std::copy_n(from.at(row + i, column), columns, to + i * width);
  }
}

// For any strides. Copies a few rows at a time, so that the cache lines of a contiguous column are
// read whole while those written stay in cache.
void CopyElements(const MatrixView& from, int64_t row, int64_t rows, int64_t column,
                  int64_t columns, float* to, int64_t width) {
  constexpr int64_t kStep = 16;
  for (int64_t first = 0; first < rows; first += kStep) {
    const int64_t count = std::min(kStep, rows - first);
    for (int64_t j = 0; j < columns; ++j) {
      const float* in = from.at(row + first, column + j);
      float* out = to + first * width + j;
      for (int64_t i = 0; i < count; ++i) out[i * width] = in[i * from.row_stride];
    }
  }
}

}  // namespace

void CopyBlock(const MatrixView& from, int64_t row, int64_t rows, int64_t column, int64_t columns,
               float* to, int64_t width) {
  const auto copy = from.column_stride == 1 ? CopyRows : CopyElements;
  copy(from, row, rows, column, columns, to, width);
}

}  // namespace attnrun::ops
