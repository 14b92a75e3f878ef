// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_NBIT_INTEGER_ROWS_H_
#define ATTNRUN_OPS_GEMM_NBIT_INTEGER_ROWS_H_

#include <cstdint>

#include "ops/gemm/nbit_block_float_rows.h"
#include "ops/gemm/nbit_kernel.h"
#include "ops/gemm/nbit_product.h"
#include "ops/gemm/nbit_rounding.h"
#include "ops/gemm/scratch.h"

namespace attnrun::ops {

// Rows of A as integers, in memory of this thread, and their products with panels. The first rows
// are written for tiles of 16 rows, if AMX is faster, the others for vectors.
class IntegerRows {
 public:
  // For the blocks of a weight. Precondition: kBlockFloat or kInt8.
  IntegerRows(NBitActivations activations, int64_t rows, const NBitFormat& format);

  // Writes a row of K floats. False if it does not fit integers.
  bool Round(const float* x, int64_t row) const;

  // C = A·B for all rows and one panel. `end`: the end of the memory that the thread reads.
  void Multiply(const NBitPanel& panel, const uint8_t* end, float* c, int64_t ldc,
                int64_t columns) const;

 private:
  // Some rows, in groups that alternate block by block.
  struct Region {
    RoundedRow first;
    int64_t rows;
    // Bytes of a number, and sums of a block of a row.
    int64_t digits;
    int64_t sums;
    // Bytes of a block from row to row of a group.
    int64_t row_bytes;
  };
  RoundedRow At(const Region& region, int64_t row) const;

  // True for kBlockFloat.
  const bool splits_;
  const int64_t k_;
  const int64_t block_;
  const int64_t blocks_;
  int64_t on_amx_;
  Region tiles_;
  Region vectors_;
  Scratch scratch_[3];
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_NBIT_INTEGER_ROWS_H_
