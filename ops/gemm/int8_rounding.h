// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_INT8_ROUNDING_H_
#define ATTNRUN_OPS_GEMM_INT8_ROUNDING_H_

#include <cstdint>

namespace attnrun::ops {

// Floats rounded to 8 bits, for products of integers. All instruction sets give the same bits.
//
// A weight is rounded column by column: w is about scale * q, with q in [-127, 127].
//
//   scale = largest |w| of the column / 127       q = w / scale, rounded to nearest
//
// The other operand is rounded row by row, as DynamicQuantizeLinear rounds a tensor, so that a row
// does not depend on the rows beside it: x is about scale * (q - zero), with q in [0, 255].
//
//   scale = (max - min) / 255    zero = -min / scale, rounded    q = x / scale, rounded, + zero
//
// where min and max include 0. Ties go to even. Scales below 2^-126 count as 0: all numbers are 0.

// The scales of the columns of a matrix [rows, width]. Precondition: width is a multiple of 16.
void ScalesOfColumns(const float* matrix, int64_t rows, int64_t width, float* scales);

// Rounds a matrix [rows, width] by these scales. The numbers must be finite.
void RoundColumns(const float* matrix, int64_t rows, int64_t width, const float* scales,
                  int8_t* rounded);

struct RowRounding {
  // NaN if the row has a NaN or an infinity, so that all products of the row are NaN.
  float scale = 0;
  int32_t zero_point = 0;
};

// Rounds a row of `count` floats.
RowRounding RoundRowToUint8(const float* row, int64_t count, uint8_t* rounded);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_INT8_ROUNDING_H_
