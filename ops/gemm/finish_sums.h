// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_FINISH_SUMS_H_
#define ATTNRUN_OPS_GEMM_FINISH_SUMS_H_

#include <cstdint>

#include "ops/gemm/activation.h"
#include "ops/gemm/micro_kernel.h"

namespace attnrun::ops {

// A block of sums in scratch space, and the way from there to the output. The sums are floats, or
// integers S to which row_terms[0]·column_terms[0] + row_terms[1]·column_terms[1] is added.
struct SumsBlock {
  // [rows, columns], `ld` numbers between rows. Rows may be read up to a whole number of vectors,
  // that is up to `ld`.
  const void* sums;
  int64_t ld;
  bool integers;
  int64_t rows;
  int64_t columns;
  // For integers: [rows] and [columns]; null for none.
  const int32_t* row_terms[2];
  const int32_t* column_terms[2];
  // The integers, [rows, columns], `ldc` numbers between rows; if null, `c` is written instead.
  int32_t* integer_c;
  // C = activation(sums * (row_scales * scales) + bias) + residual. Scales and bias: [columns], row
  // scales [rows]; null for 1 and 0.
  float* c;
  // C rounded to bf16, in place of `c`, if it is not null.
  uint16_t* bf16_c;
  int64_t ldc;
  // For integers.
  const float* row_scales;
  const float* scales;
  const float* bias;
  Activation activation;
  TileResidual residual;
  // True if the residual is added before the activation.
  bool residual_first;
};

// Takes rows [begin, end) to the output.
void FinishRows(const SumsBlock& block, int64_t begin, int64_t end);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_FINISH_SUMS_H_
