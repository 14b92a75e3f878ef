// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_NBIT_AMX_H_
#define ATTNRUN_OPS_GEMM_NBIT_AMX_H_

#include "ops/gemm/nbit_int8_kernel.h"

namespace attnrun::ops {

// The number of the first rows, of `rows`, that take less time on AMX: with MultiplyRoundedOnAmx
// than with MultiplyRounded for one digit, with MultiplyBlockFloatOnAmx than with
// MultiplyBlockFloat for more. 0 without AMX.
int64_t RowsOnAmx(int64_t rows, int64_t digits);

// As MultiplyRounded, with the same bits: a panel's codes are unpacked as tiles of B once, and each
// block of K is one or more products of tiles, exact in integers, of which the vector units then
// make floats. 16 rows of A alternate, the last ones with rows of any content up to a multiple of
// 16.
void MultiplyRoundedOnAmx(const RoundedProduct& product);

// As MultiplyBlockFloat, with the same bits, for rows that SplitRow wrote as nibbles.
void MultiplyBlockFloatOnAmx(const RoundedProduct& product);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_NBIT_AMX_H_
