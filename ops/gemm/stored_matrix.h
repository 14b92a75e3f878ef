// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_STORED_MATRIX_H_
#define ATTNRUN_OPS_GEMM_STORED_MATRIX_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "attnrun/tensor.h"
#include "ops/gemm/matrix.h"

namespace attnrun::ops {

// A matrix as a model stores it, of float, float16 or bfloat16, in memory that it does not own.
// Halves become floats where they are copied, so that no copy of the whole matrix is made.
struct StoredMatrix {
  StoredMatrix() = default;
  // Implicit, since it is the same matrix.
  // NOLINTNEXTLINE(google-explicit-constructor)
  StoredMatrix(const MatrixView& floats)
      : data(floats.data),
        rows(floats.rows),
        columns(floats.columns),
        row_stride(floats.row_stride),
        column_stride(floats.column_stride) {}
  // The last two axes of a tensor; the others have an extent of 1. Precondition:
  // IsFloatOrHalf(tensor.type()), and it has two axes.
  explicit StoredMatrix(const Tensor& tensor);

  // Precondition: the rows are one run.
  StoredMatrix Transposed() const;
  // From the first element to the last. Precondition: there are elements.
  absl::string_view bytes() const;

  DataType type = DataType::kFloat;
  const void* data = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  // Rows come in runs of `run_rows`. Element (i, j) is number
  //   i / run_rows * run_stride + i % run_rows * row_stride + j * column_stride
  // of the data.
  int64_t row_stride = 0;
  int64_t column_stride = 1;
  int64_t run_rows = kOneRun;
  int64_t run_stride = 0;

  static constexpr int64_t kOneRun = INT64_MAX;
};

// As CopyBlock of a MatrixView.
void CopyBlock(const StoredMatrix& from, int64_t row, int64_t rows, int64_t column, int64_t columns,
               float* to, int64_t width);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_STORED_MATRIX_H_
