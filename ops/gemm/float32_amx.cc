// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/float32_amx.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "core/div_ceil.h"
#include "ops/gemm/amx_gemm.h"
#include "ops/gemm/even_parts.h"
#include "ops/gemm/gemm_operands.h"
#include "ops/gemm/scratch.h"

namespace attnrun::ops {
namespace {

// Rows that cannot be split, found while they are packed: a bit for each row of a block of 16.
// Threads that pack the same block find the same.
class WideRows {
 public:
  explicit WideRows(int64_t rows) : bits_(scratch_.AtLeast<uint32_t>(DivCeil(rows, kAmxRows))) {}

  void Set(int64_t row, uint32_t bits) const {
    std::atomic_ref(bits_[row / kAmxRows]).store(bits, std::memory_order_relaxed);
  }
  bool Has(int64_t row) const {
    const uint32_t bits = std::atomic_ref(bits_[row / kAmxRows]).load(std::memory_order_relaxed);
    return (bits >> row % kAmxRows & 1) != 0;
  }

 private:
  Scratch scratch_;
  uint32_t* const bits_;
};

// A row of A times a panel, in the arithmetic of kFloat32: the sum of a block of K is a chain of
// fused multiply-adds.
void MultiplyRow(const MatrixView& a, int64_t row, const float* panel, float* sums) {
  const int64_t blocks = DepthBlocks(a.columns);
  const DepthParts parts(a.columns, blocks);
  for (int64_t block = 0; block < blocks; ++block) {
    float part[kAmxPanelWidth] = {};
    for (int64_t k = parts.Begin(block); k < parts.Begin(block + 1); ++k) {
      const float x = *a.at(row, k);
      const float* const step = panel + k / kAmxBf16Step * kAmxFloatStep;
      for (int64_t j = 0; j < kAmxPanelWidth; ++j) {
        part[j] = std::fma(x, step[IndexInFloatStep(k % kAmxBf16Step, j)], part[j]);
      }
    }
    for (int64_t j = 0; j < kAmxPanelWidth; ++j) {
      sums[j] = block == 0 ? part[j] : sums[j] + part[j];
    }
  }
}

}  // namespace

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
        for (int64_t i = 0; i < sums.rows; ++i) {
          if (wide.Has(sums.row + i)) {
            MultiplyRow(a, sums.row + i, panel, floats + i * kAmxPanelWidth);
          }
        }
        SumsBlock block = BlockOf(sums, epilogue);
        block.c = c + sums.row * ldc + sums.column;
        block.ldc = ldc;
        if (!scales.empty()) block.scales = scales.data();
        return block;
      });
}

}  // namespace attnrun::ops
