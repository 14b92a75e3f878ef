// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/nbit_int8.h"

#include <algorithm>

#include "core/div_ceil.h"
#include "core/interrupt.h"
#include "core/parallel.h"
#include "hwy/aligned_allocator.h"
#include "ops/gemm/amx.h"
#include "ops/gemm/gemm_share.h"
#include "ops/gemm/micro_kernel.h"
#include "ops/gemm/nbit_amx.h"
#include "ops/gemm/nbit_int8_kernel.h"
#include "ops/gemm/scratch.h"

namespace attnrun::ops {
namespace {

// Rows of A, rounded.
struct RoundedRows {
  RoundedRows(int64_t rows, const NBitFormat& format)
      : k(format.rows),
        block(format.block),
        blocks(DivCeil(format.rows, format.block)),
        on_amx(blocks > 0 ? RowsOnAmx(rows) : 0),
        stride(blocks * block) {
    // Tiles are whole.
    const int64_t most = std::max(DivCeil(on_amx, kAmxRows) * kAmxRows, rows);
    first = {scratch[0].AtLeast<int8_t>(most * stride), scratch[1].AtLeast<float>(most * blocks),
             scratch[2].AtLeast<int32_t>(most * blocks)};
  }

  // Rows on AMX alternate, so that 16 of them are tiles of A.
  RoundedRow at(int64_t row) const {
    const int64_t alternating = row < on_amx ? kAmxRows : 1;
    const int64_t i = row % alternating;
    return {first.values + (row - i) * stride + i * block, first.scales + (row - i) * blocks + i,
            first.sums + (row - i) * blocks + i, alternating};
  }

  const int64_t k;
  const int64_t block;
  const int64_t blocks;
  // Rows that are multiplied on AMX.
  const int64_t on_amx;
  const int64_t stride;
  Scratch scratch[3];
  RoundedRow first;
};

// The least number of elements of A, or of multiplications, per range: some microseconds.
constexpr int64_t kLeastRounded = 1 << 15;
constexpr int64_t kLeastMultiplied = 1 << 19;

void RoundRows(const MatrixView& a, const RoundedRows& to) {
  ParallelFor(a.rows, DivCeil(kLeastRounded, a.columns + 1), [&](int64_t begin, int64_t end) {
    hwy::AlignedVector<float> copy(a.column_stride == 1 ? 0 : a.columns);
    for (int64_t row = begin; row < end; ++row) {
      if (a.column_stride != 1) CopyBlock(a, row, 1, 0, a.columns, copy.data(), a.columns);
      RoundRow(a.column_stride == 1 ? a.at(row, 0) : copy.data(), to.k, to.block, to.at(row));
    }
  });
}

// Multiplies all rows by the panels [begin, end).
void MultiplyPanelRange(const GemmProblem& problem, const NBitPanels& b, const RoundedRows& rounded,
                        IndexRange panels) {
  const int64_t rows = problem.a.rows;
  const uint8_t* const last = b.panel(panels.begin).data + panels.size() * b.panel_bytes();
  for (int64_t index = panels.begin; index < panels.end; ++index) {
    if (Interrupted()) return;
    const int64_t column = index * PanelWidth();
    const int64_t columns = std::min(PanelWidth(), problem.b.columns - column);
    const auto product = [&](int64_t row, int64_t count) {
      return RoundedProduct{rounded.at(row), rounded.stride, rounded.blocks,
                            count,           b.panel(index), problem.c + row * problem.ldc + column,
                            problem.ldc,     columns,        last};
    };
    const int64_t on_amx = rounded.on_amx;
    if (on_amx > 0) MultiplyRoundedOnAmx(product(0, on_amx));
    if (on_amx < rows) MultiplyRounded(product(on_amx, rows - on_amx));
    ApplyEpilogue(problem, {0, rows}, column, columns);
  }
}

}  // namespace

bool RoundsActivations(Precision precision, const NBitPanels& b) {
  return precision == Precision::kInt8Activations && SupportsInt8(b);
}

absl::string_view NBitGemmName(bool rounds) {
  return rounds ? "gemm nbit, int8 activations" : "gemm nbit";
}

bool SupportsInt8(const NBitPanels& b) { return b.format().bits == 4; }

void GemmInt8(const MatrixView& a, const NBitPanels& b, float* c, int64_t ldc,
              const Epilogue& epilogue) {
  if (a.rows == 0) return;
  GemmProblem problem = {a, {}, c, ldc, epilogue};
  problem.b.columns = b.columns();
  const RoundedRows rounded(a.rows, b.format());
  RoundRows(a, rounded);
  // A few rows cost the time to read B.
  const int64_t work = (a.rows + 15) * (a.columns + 1) * PanelWidth();
  ParallelFor(b.num_panels(), DivCeil(kLeastMultiplied, work), [&](int64_t begin, int64_t end) {
    MultiplyPanelRange(problem, b, rounded, {begin, end});
  });
}

void NBitGemm(bool rounds, const MatrixView& a, const NBitPanels& b, float* c, int64_t ldc,
              const Epilogue& epilogue) {
  rounds ? GemmInt8(a, b, c, ldc, epilogue) : Gemm(a, b, c, ldc, epilogue);
}

}  // namespace attnrun::ops
