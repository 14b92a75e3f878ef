// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_NBIT_ROUNDING_H_
#define ATTNRUN_OPS_GEMM_NBIT_ROUNDING_H_

#include <cstdint>

namespace attnrun::ops {

// Rows of A, rounded to 8 bits. Each block of a row, as long as the blocks of the weight, has its
// own scale: x is about scale * value.
struct RoundedRow {
  // A whole number of blocks. The four even ones of 8 neighbours along K come before the odd ones,
  // as codes of 4 bits lie in the bytes of their words.
  int8_t* values;
  // By block: the scale and the sum of the values.
  float* scales;
  int32_t* sums;
  // The number of rows that alternate block by block, 1 for a row by itself.
  int64_t alternating = 1;
};

// Rounds `k` elements: scale = max|x| / 127, value = x * (127 / max|x|) rounded to nearest, ties to
// even. A block with a maximum below 2^-100 becomes 0; one that holds an infinity or NaN has the
// scale NaN.
void RoundRow(const float* x, int64_t k, int64_t block, const RoundedRow& to);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_NBIT_ROUNDING_H_
