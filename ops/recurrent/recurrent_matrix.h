// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_RECURRENT_RECURRENT_MATRIX_H_
#define ATTNRUN_OPS_RECURRENT_RECURRENT_MATRIX_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "ops/gemm/gemm.h"
#include "ops/gemm/int8_panels.h"
#include "ops/gemm/packed_matrix.h"

namespace attnrun::ops {

// A weight of a recurrent layer, packed: floats or 8-bit integers.
struct RecurrentMatrix {
  std::shared_ptr<const PackedMatrix> floats;
  std::shared_ptr<const Int8Panels> integers;
  // One for each column of `integers`.
  std::vector<float> scales;
};

// C = A·B + the epilogue's bias. If B has integers, A is rounded as by DynamicQuantizeLinear, with
// one scale for all of its rows, which must then be dense.
void Multiply(const MatrixView& a, const RecurrentMatrix& b, float* c, int64_t ldc,
              const Epilogue& epilogue);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_RECURRENT_RECURRENT_MATRIX_H_
