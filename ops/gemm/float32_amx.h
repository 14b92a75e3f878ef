// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_FLOAT32_AMX_H_
#define ATTNRUN_OPS_GEMM_FLOAT32_AMX_H_

#include "ops/gemm/gemm.h"

namespace attnrun::ops {

// As Gemm, for a weight in the format kFloat32Tiles. Rows of A that cannot be split are multiplied
// as floats.
void Float32GemmOnAmx(const MatrixView& a, const PackedMatrix& b, float* c, int64_t ldc,
                      const Epilogue& epilogue);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_FLOAT32_AMX_H_
