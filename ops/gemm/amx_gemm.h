// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_AMX_GEMM_H_
#define ATTNRUN_OPS_GEMM_AMX_GEMM_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "ops/gemm/amx.h"
#include "ops/gemm/amx_float32.h"
#include "ops/gemm/finish_sums.h"
#include "ops/gemm/gemm.h"

namespace attnrun::ops {

// A packed matrix B [K, N].
struct AmxMatrix {
  AmxType type = AmxType::kBf16;
  // Panels of [steps, 16, kAmxPanelWidth, 4 bytes], `panel_bytes` bytes apart; for kFloat32 of
  // [steps, kAmxFloatStepBytes].
  const uint8_t* panels = nullptr;
  int64_t panel_bytes = 0;
  int64_t steps = 0;
  // N.
  int64_t columns = 0;

  // Tiles of A for a step.
  int64_t pieces() const { return type == AmxType::kFloat32 ? kFloatPieces : 1; }
};

// A block of A·B: 32-bit sums of rows [row, row + rows) and columns [column, column + columns),
// kAmxPanelWidth numbers between rows, in scratch space.
struct AmxSums {
  int64_t row = 0;
  int64_t rows = 0;
  int64_t column = 0;
  int64_t columns = 0;
  void* sums = nullptr;
};

// Writes rows [row, row + count) of A, count at most 16, as a block [steps, pieces, 16, 64 bytes];
// numbers beyond K are zeros, rows beyond `count` anything. But for int8 it may be called more than
// once for a row.
using FillAmxRows = absl::FunctionRef<void(int64_t row, int64_t count, uint8_t* block)>;

// Where a panel's sums go, and what happens to them on the way.
using AmxOutput = absl::FunctionRef<SumsBlock(const AmxSums&)>;

// Computes `rows` rows of A·B on up to NumThreads() threads. `fill` provides A, and `output` says
// where C is. Both are called from many threads. Every sum is taken along K in the same order,
// whatever the number of rows and of threads.
void AmxGemm(int64_t rows, const AmxMatrix& b, FillAmxRows fill, AmxOutput output);

// The scale of an epilogue for each column of a panel; empty for 1.
std::vector<float> ColumnScales(const Epilogue& epilogue);

// The block of `sums` on the way to C = epilogue(sums), but for the epilogue's scale and C itself.
SumsBlock BlockOf(const AmxSums& sums, const Epilogue& epilogue);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_AMX_GEMM_H_
