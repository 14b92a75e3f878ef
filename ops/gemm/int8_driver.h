// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_INT8_DRIVER_H_
#define ATTNRUN_OPS_GEMM_INT8_DRIVER_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "ops/gemm/int8_gemm.h"
#include "ops/gemm/int8_kernel.h"

namespace attnrun::ops {

// The extents of a product of integers.
struct Int8Operands {
  Int8Layout layout = Int8Layout::kInt16x2;
  // A is [rows, depth], B is [depth, columns].
  int64_t rows = 0;
  int64_t depth = 0;
  int64_t columns = 0;
  // A panel of B and a row of A have as many steps, of 32 bits in each column and row.
  int64_t steps = 0;
  // True if rows of A have scales.
  bool scales_rows = false;
};

// The numbers of a row of A that correct the sums, see Int8Product.
struct Int8RowTerms {
  // The sum of the row's numbers less their zero point; may be 0 if no panel has offsets.
  int32_t sum = 0;
  // Minus the zero point of the row's uint8 numbers.
  int32_t negated_zero_point = 0;
  float scale = 1;
};

// Writes row `row` of A, 32 bits for each step: pairs of int16 less their zero point for kInt16x2,
// else four uint8; numbers beyond the depth are zeros.
using FillInt8Row = absl::FunctionRef<Int8RowTerms(int64_t row, uint8_t* to)>;

// Returns panel `index` of B.
using Int8PanelAt = absl::FunctionRef<Int8PanelView(int64_t index)>;

// C = A·B as `epilogue` says, on up to NumThreads() threads, which call `fill` and `panel`.
void MultiplyInt8Matrices(const Int8Operands& operands, FillInt8Row fill, Int8PanelAt panel,
                          const Int8Epilogue& epilogue);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_INT8_DRIVER_H_
