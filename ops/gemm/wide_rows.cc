// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/wide_rows.h"

#include <immintrin.h>

#include <array>
#include <atomic>

#include "core/div_ceil.h"
#include "ops/gemm/amx_float32.h"
#include "ops/gemm/amx_target.h"
#include "ops/gemm/even_parts.h"
#include "ops/gemm/gemm_operands.h"
#include "ops/tensors/index_range.h"

namespace attnrun::ops {
namespace {

// Rows that are multiplied at once. A model may have nothing but such rows: their two vectors of
// sums are as many chains as keep the units for multiply-adds busy.
constexpr int64_t kWideRowsAtOnce = 4;
constexpr int64_t kHalfPanel = kAmxPanelWidth / 2;

// Some wide rows, and where their sums go.
struct RowGroup {
  std::array<const float*, kWideRowsAtOnce> rows;
  std::array<float*, kWideRowsAtOnce> sums;
};

// Adds the products for a part of K to the sums, or writes them if the part is the first one.
ATTNRUN_AMX void MultiplyPart(const RowGroup& group, int64_t stride, const float* panel,
                              IndexRange depth) {
  __m512 part[kWideRowsAtOnce][2];
  for (auto& row : part) row[0] = row[1] = _mm512_setzero_ps();
  for (int64_t k = depth.begin; k < depth.end; ++k) {
    const float* const step = panel + k / kAmxBf16Step * kAmxFloatStep;
    const float* const b = step + IndexInFloatStep(k % kAmxBf16Step, 0);
    const __m512 left = _mm512_loadu_ps(b);
    const __m512 right = _mm512_loadu_ps(b + kAmxPanelWidth);
#pragma GCC unroll 4
    for (int64_t row = 0; row < kWideRowsAtOnce; ++row) {
      const __m512 x = _mm512_set1_ps(group.rows[row][k * stride]);
      part[row][0] = _mm512_fmadd_ps(x, left, part[row][0]);
      part[row][1] = _mm512_fmadd_ps(x, right, part[row][1]);
    }
  }
  for (int64_t row = 0; row < kWideRowsAtOnce; ++row) {
    for (int64_t half = 0; half < 2; ++half) {
      float* const to = group.sums[row] + half * kHalfPanel;
      const __m512 x = part[row][half];
      _mm512_storeu_ps(to, depth.begin == 0 ? x : _mm512_add_ps(_mm512_loadu_ps(to), x));
    }
  }
}

void MultiplyGroup(const RowGroup& group, const MatrixView& a, const float* panel) {
  const int64_t blocks = DepthBlocks(a.columns);
  const DepthParts parts(a.columns, blocks);
  for (int64_t block = 0; block < blocks; ++block) {
    MultiplyPart(group, a.column_stride, panel, {parts.Begin(block), parts.Begin(block + 1)});
  }
}

}  // namespace

WideRows::WideRows(int64_t rows) : bits_(scratch_.AtLeast<uint32_t>(DivCeil(rows, kAmxRows))) {}

void WideRows::Set(int64_t row, uint32_t bits) const {
  std::atomic_ref(bits_[row / kAmxRows]).store(bits, std::memory_order_relaxed);
}

bool WideRows::Has(int64_t row) const {
  const uint32_t bits = std::atomic_ref(bits_[row / kAmxRows]).load(std::memory_order_relaxed);
  return (bits >> row % kAmxRows & 1) != 0;
}

void WideRows::Multiply(const MatrixView& a, int64_t row, int64_t rows, const float* panel,
                        float* sums) const {
  RowGroup group;
  int64_t count = 0;
  float unused[kAmxPanelWidth] = {};
  const auto multiply = [&] {
    // The first row stands in for those that are missing.
    for (int64_t i = count; i < kWideRowsAtOnce; ++i) {
      group.rows[i] = group.rows[0];
      group.sums[i] = unused;
    }
    MultiplyGroup(group, a, panel);
    count = 0;
  };
  for (int64_t i = 0; i < rows; ++i) {
    if (!Has(row + i)) continue;
    group.rows[count] = a.at(row + i, 0);
    group.sums[count++] = sums + i * kAmxPanelWidth;
    if (count == kWideRowsAtOnce) multiply();
  }
  if (count > 0) multiply();
}

}  // namespace attnrun::ops
