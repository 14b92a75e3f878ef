// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/float32_amx.h"

#include <vector>

#include "ops/gemm/amx_gemm.h"
#include "ops/gemm/gemm_operands.h"
#include "ops/gemm/scratch.h"
#include "ops/gemm/wide_rows.h"

namespace attnrun::ops {

void Float32GemmOnAmx(const MatrixView& a, const PackedMatrix& b, float* c, int64_t ldc,
                      const Epilogue& epilogue) {
  const std::vector<float> scales = ColumnScales(epilogue);
  const WideRows wide(a.rows);
  const int64_t panel_bytes = PanelBytes(b.format(), b.rows());
  const AmxMatrix tiles = {AmxType::kFloat32, static_cast<const uint8_t*>(b.panel_bytes(0)),
                           panel_bytes, panel_bytes / kAmxFloatStepBytes, b.columns()};
  AmxGemm(
      a.rows, tiles,
      [&](int64_t row, int64_t count, uint8_t* block) {
        Scratch scratch;
        const MatrixView rows = RowsOf(a, row, count, scratch);
        wide.Set(row, PackSplitBlock(rows.data, rows.row_stride, count, rows.columns, block));
      },
      [&](const AmxSums& sums) {
        auto* const floats = static_cast<float*>(sums.sums);
        const auto* const panel =
            static_cast<const float*>(b.panel_bytes(sums.column / kAmxPanelWidth));
        wide.Multiply(a, sums.row, sums.rows, panel, floats);
        SumsBlock block = BlockOf(sums, epilogue);
        block.c = c + sums.row * ldc + sums.column;
        block.ldc = ldc;
        if (!scales.empty()) block.scales = scales.data();
        return block;
      });
}

}  // namespace attnrun::ops
