// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_NBIT_BLOCK_FLOAT_ROWS_H_
#define ATTNRUN_OPS_GEMM_NBIT_BLOCK_FLOAT_ROWS_H_

#include <cstdint>

#include "ops/gemm/nbit_rounding.h"

namespace attnrun::ops {

// Block floating point: x is scale * v with an integer v of 24 bits and a power of two that a block
// of a row shares. The rounding error is below 2^-22 of the largest magnitude of the block, and 0
// for numbers whose bits all fit. Products of v are sums of products of its digits, numbers of 8
// bits:
//
//   bytes    v = 65536 d[0] + 256 d[1] + d[2]
//   nibbles  v = 4096 (16 d[0] + d[1]) + 16 d[2] + d[3]
//
// The digits of a block follow each other as [digits, block], in the order of RoundedRow::values.
// Tiles take nibbles, because 16 times a code of 4 bits is a number of 8 bits: a tile of d[0] and
// d[1] times one of 16 B and B makes one sum of two digits.
enum class Digits { kBytes, kNibbles };

inline constexpr int64_t kByteDigits = 3;
inline constexpr int64_t kNibbleDigits = 4;
// In longer blocks, sums of v could exceed 32 bits.
inline constexpr int64_t kMostBlockFloats = 256;

// Splits `k` elements. `to.values` and `to.scales` are those of the first block. With bytes, `to.
// alternating` rows have [rows, 3, block] digits and [rows, 3] sums, one for each digit; with
// nibbles, [2, rows, 2, block] digits and [rows] sums of v. False if the row has to be multiplied
// in floats, because a block holds an infinity or NaN, or its largest magnitude is not 0 and not
// within 2^-60 and 2^60; such a block is written as zeros.
bool SplitRow(Digits digits, const float* x, int64_t k, int64_t block, const RoundedRow& to);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_NBIT_BLOCK_FLOAT_ROWS_H_
