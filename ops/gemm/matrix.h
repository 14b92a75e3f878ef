// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_MATRIX_H_
#define ATTNRUN_OPS_GEMM_MATRIX_H_

#include <cstdint>

namespace attnrun::ops {

// A matrix of floats in memory that it does not own.
struct MatrixView {
  const float* data = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  // Element (i, j) is data[i * row_stride + j * column_stride].
  int64_t row_stride = 0;
  int64_t column_stride = 1;

  const float* at(int64_t i, int64_t j) const { return data + i * row_stride + j * column_stride; }
  MatrixView Transposed() const { return {data, columns, rows, column_stride, row_stride}; }
};

// Copies rows [row, row + rows) and columns [column, column + columns) of `from` to dense rows,
// `width` floats apart.
void CopyBlock(const MatrixView& from, int64_t row, int64_t rows, int64_t column, int64_t columns,
               float* to, int64_t width);

// A matrix whose blocks are computed on demand.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  // Writes rows [row, row + rows) and columns [column, column + columns) to rows `width` floats
  // apart. Called from many threads.
  virtual void Copy(int64_t row, int64_t rows, int64_t column, int64_t columns, float* to,
                    int64_t width) const = 0;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_MATRIX_H_
