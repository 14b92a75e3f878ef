// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_INT8_WEIGHT_H_
#define ATTNRUN_OPS_GEMM_INT8_WEIGHT_H_

#include <cstdint>

#include "ops/gemm/int8_gemm.h"
#include "ops/gemm/int8_kernel.h"
#include "ops/gemm/packed_matrix.h"
#include "ops/gemm/weight_format.h"

namespace attnrun::ops {

// The int8 format of float weights on this machine. Unlike kInt8x4 of models in int8, every layout
// holds whole panels without corrections: weights that are scaled by column need too many.
WeightFormat BestInt8Format();

// The layout of an int8 format. Precondition here and below: IsInt8(format).
Int8Layout LayoutOf(WeightFormat format);

int64_t Int8PanelBytes(WeightFormat format, int64_t rows);

// Rounds and packs `columns` of a weight with `rows` rows, whose numbers are finite.
void PackInt8Panel(WeightFormat format, const BlockSource& weight, int64_t rows, IndexRange columns,
                   uint8_t* panel);

Int8PanelView ViewInt8Panel(const PackedMatrix& weight, int64_t index);

// Gemm for a weight in an int8 format: rounds the rows of A to 8 bits, see RoundRowToUint8.
void RoundedGemm(const MatrixView& a, const PackedMatrix& b, float* c, int64_t ldc,
                 const Epilogue& epilogue);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_INT8_WEIGHT_H_
