// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/bf16_amx.h"

#include <vector>

#include "ops/gemm/gemm_operands.h"
#include "ops/gemm/scratch.h"

namespace attnrun::ops {

AmxMatrix Bf16Tiles(const PackedMatrix& b) {
  const int64_t panel_bytes = PanelBytes(b.format(), b.rows());
  return {AmxType::kBf16, static_cast<const uint8_t*>(b.panel_bytes(0)), panel_bytes,
          panel_bytes / kAmxPanelBytes, b.columns()};
}

SumsBlock BlockOf(const AmxSums& sums, const Bf16Output& c, const Epilogue& epilogue) {
  SumsBlock block = BlockOf(sums, AfterRounding(epilogue));
  const int64_t at = sums.row * c.ldc + sums.column;
  if (c.halves != nullptr) {
    block.bf16_c = c.halves + at;
  } else {
    block.c = c.floats + at;
  }
  block.ldc = c.ldc;
  return block;
}

void Bf16GemmOnAmx(const Bf16Rows& a, const PackedMatrix& b, const Bf16Output& c,
                   const Epilogue& epilogue) {
  const std::vector<float> scales = ColumnScales(epilogue);
  AmxGemm(
      a.floats.rows, Bf16Tiles(b),
      [&](int64_t row, int64_t count, uint8_t* block) {
        if (a.halves == nullptr) {
          Scratch scratch;
          const MatrixView rows = RowsOf(a.floats, row, count, scratch);
          return PackBf16Block(rows.data, rows.row_stride, count, rows.columns, block);
        }
        const int64_t stride = a.floats.row_stride;
        PackBf16Block(a.halves + row * stride, stride, count, a.floats.columns, block);
      },
      [&](const AmxSums& sums) {
        SumsBlock block = BlockOf(sums, c, epilogue);
        if (!scales.empty()) block.scales = scales.data();
        return block;
      });
}

}  // namespace attnrun::ops
