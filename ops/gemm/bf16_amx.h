// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_BF16_AMX_H_
#define ATTNRUN_OPS_GEMM_BF16_AMX_H_

#include "ops/gemm/amx_gemm.h"
#include "ops/gemm/gemm.h"

namespace attnrun::ops {

// A matrix A in floats or, if `halves` is set, already rounded: bf16 [rows, columns] of `floats`,
// of which only the extents and the stride of the rows are used; its columns are adjacent.
struct Bf16Rows {
  MatrixView floats;
  const uint16_t* halves = nullptr;
};

// C in floats or, if `halves` is set, rounded to bf16; rows are `ldc` elements apart.
struct Bf16Output {
  // The columns from `column` on.
  Bf16Output From(int64_t column) const {
    if (halves != nullptr) return {nullptr, halves + column, ldc};
    return {floats + column, nullptr, ldc};
  }

  float* floats = nullptr;
  uint16_t* halves = nullptr;
  int64_t ldc = 0;
};

// A weight in the format kBfloat16Tiles, for AmxGemm.
AmxMatrix Bf16Tiles(const PackedMatrix& b);

// The block of `sums` on the way to C = epilogue(sums), but for the epilogue's scale.
SumsBlock BlockOf(const AmxSums& sums, const Bf16Output& c, const Epilogue& epilogue);

// As Gemm, for a weight in the format kBfloat16Tiles.
void Bf16GemmOnAmx(const Bf16Rows& a, const PackedMatrix& b, const Bf16Output& c,
                   const Epilogue& epilogue);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_BF16_AMX_H_
