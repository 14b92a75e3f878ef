// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_INT8_GEMM_H_
#define ATTNRUN_OPS_GEMM_INT8_GEMM_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "attnrun/tensor.h"
#include "ops/gemm/gemm.h"
#include "ops/gemm/int8_panels.h"

namespace attnrun::ops {

// A matrix [M, K] of 8-bit integers and the zero points of its rows.
struct Int8Rows {
  // int8 or uint8, dense, M * K elements from `begin` on.
  const Tensor* values = nullptr;
  int64_t begin = 0;
  int64_t rows = 0;
  int64_t columns = 0;
  // [M], or one element for all rows, or none for 0; each within [-128, 255].
  absl::Span<const int32_t> zero_points;

  int32_t zero_point(int64_t row) const {
    if (zero_points.empty()) return 0;
    return zero_points[zero_points.size() == 1 ? 0 : row];
  }
};

// A matrix [M, K] of 8-bit integers whose rows are written on demand.
struct Int8RowSource {
  // int8 or uint8.
  DataType type;
  int64_t rows;
  int64_t columns;
  // The zero point of all rows, within [-128, 255].
  int32_t zero_point;
  // Writes a row's bytes. Called from many threads.
  absl::FunctionRef<void(int64_t row, uint8_t* to)> write;
};

// The output of a product: the exact integers S = A·B (modulo 2^32), or activation(scales * S +
// bias) + residual.
struct Int8Epilogue {
  // S, [M, N]; if null, `c` is written instead.
  int32_t* sums = nullptr;
  float* c = nullptr;
  // Numbers between the rows of S or C; 0 for N.
  int64_t ldc = 0;
  // [N]; null for those of the panels.
  const float* scales = nullptr;
  // Its `scale` is not used.
  Epilogue epilogue;
};

// C = A·B as `epilogue` says, on up to NumThreads() threads.
void Int8Gemm(const Int8Rows& a, const Int8Panels& b, const Int8Epilogue& epilogue);
void Int8Gemm(const Int8RowSource& a, const Int8Panels& b, const Int8Epilogue& epilogue);

// The name of a product for the profile; null if B is not packed once.
absl::string_view Int8GemmName(const Int8Panels* b);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_INT8_GEMM_H_
