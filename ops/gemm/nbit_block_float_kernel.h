// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_NBIT_BLOCK_FLOAT_KERNEL_H_
#define ATTNRUN_OPS_GEMM_NBIT_BLOCK_FLOAT_KERNEL_H_

#include "ops/gemm/nbit_int8_kernel.h"

namespace attnrun::ops {

// Rows that are multiplied together.
inline constexpr int64_t kBlockFloatRows = 3;

// As MultiplyRounded, for rows that SplitRow wrote as bytes: kBlockFloatRows rows alternate, and
// the fewer ones that are left. The sum of a block is exact until it is rounded to a float, once.
void MultiplyBlockFloat(const RoundedProduct& product);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_NBIT_BLOCK_FLOAT_KERNEL_H_
