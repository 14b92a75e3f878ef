// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_WIDE_ROWS_H_
#define ATTNRUN_OPS_GEMM_WIDE_ROWS_H_

#include <cstdint>

#include "ops/gemm/matrix.h"
#include "ops/gemm/scratch.h"

namespace attnrun::ops {

// The rows of A that cannot be split into bf16 (see amx_float32.h), found while they are packed: a
// bit for each row of a block of 16. Threads that pack the same block find the same.
class WideRows {
 public:
  explicit WideRows(int64_t rows);

  // `row` begins a block, whose bits these are.
  void Set(int64_t row, uint32_t bits) const;

  // Replaces the sums [rows, kAmxPanelWidth] of those among the `rows` rows of A from `row` on by
  // their products with a packed panel (see kAmxFloatStep), in the arithmetic of kFloat32: the sum
  // of a block of K is a chain of fused multiply-adds.
  void Multiply(const MatrixView& a, int64_t row, int64_t rows, const float* panel,
                float* sums) const;

 private:
  bool Has(int64_t row) const;

  Scratch scratch_;
  uint32_t* const bits_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_WIDE_ROWS_H_
