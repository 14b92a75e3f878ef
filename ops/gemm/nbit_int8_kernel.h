// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_NBIT_INT8_KERNEL_H_
#define ATTNRUN_OPS_GEMM_NBIT_INT8_KERNEL_H_

#include <cstdint>

#include "ops/gemm/nbit_kernel.h"
#include "ops/gemm/nbit_rounding.h"

namespace attnrun::ops {

// Some rows times one panel of codes of 4 bits.
struct RoundedProduct {
  // Those of the first row; those of a row have as many blocks.
  RoundedRow a;
  int64_t blocks;
  int64_t rows;
  NBitPanel panel;
  // [rows, columns], `ldc` floats between rows.
  float* c;
  int64_t ldc;
  int64_t columns;
  // The end of the memory that the thread reads from panel.data on.
  const uint8_t* end;
};

// C = A·B. The products of a block are summed in integers, and so exactly; (sum - zero point * sum
// of values) * (scale of B * scale of A) is added to an element of C block by block.
void MultiplyRounded(const RoundedProduct& product);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_NBIT_INT8_KERNEL_H_
