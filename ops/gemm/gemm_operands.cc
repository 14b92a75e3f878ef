// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/gemm_operands.h"

#include <unistd.h>

#include <algorithm>

#include "core/div_ceil.h"
#include "ops/tensors/half.h"

namespace attnrun::ops {
namespace {

// The number of rows from which it pays to copy a panel of an unpacked B.
constexpr int64_t kRowsThatRepayPacking = 32;

}  // namespace

int64_t DepthBlocksPerPass(int64_t rows, bool copied) {
  // 0 or -1 if the system does not know.
  static const int64_t cache_bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  const int64_t lines = (copied ? 2 * rows : rows) + 2 * PanelWidth();
  const auto block_bytes = lines * kDepthBlock * static_cast<int64_t>(sizeof(float));
  return std::max<int64_t>(cache_bytes / 4 * 3 / block_bytes, 1);
}

bool CopiesA(const MatrixView& a, int64_t panels) {
  if (a.column_stride != 1) return true;
  // The number of panels from which it pays to copy A.
  constexpr int64_t kPanelsThatRepayCopying = 8;
  constexpr int64_t kPageInFloats = 1024;
  return a.row_stride % kPageInFloats == 0 && a.rows >= kRowsThatRepayPacking &&
         panels >= kPanelsThatRepayCopying;
}

bool CopiesB(const GemmProblem& problem, int64_t rows) {
  return problem.b_source != nullptr || problem.b.column_stride != 1 ||
         rows >= kRowsThatRepayPacking;
}

void SetA(PanelProduct& product, const MatrixView& a, IndexRange rows, IndexRange depth,
          bool copied, Scratch& scratch) {
  product.rows = rows.size();
  product.k = depth.size();
  product.a = a.at(rows.begin, depth.begin);
  product.lda = a.row_stride;
  if (!copied) return;
  // An odd number of cache lines per row, so that rows lie in different sets of the cache.
  constexpr int64_t kLine = 16;
  product.lda = (DivCeil(depth.size(), kLine) | 1) * kLine;
  float* const to = scratch.AtLeast<float>(rows.size() * product.lda);
  product.a = to;
  CopyBlock(a, rows.begin, rows.size(), depth.begin, depth.size(), to, product.lda);
}

MatrixView RowsOf(const MatrixView& a, int64_t first, int64_t count, Scratch& scratch) {
  if (a.column_stride == 1) return {a.at(first, 0), count, a.columns, a.row_stride};
  auto* const copy = scratch.AtLeast<float>(count * a.columns);
  CopyBlock(a, first, count, 0, a.columns, copy, a.columns);
  return {copy, count, a.columns, a.columns};
}

void RoundA(PanelProduct& product) {
  for (int64_t row = 0; row < product.rows; ++row) {
    // SetA copied the rows.
    RoundToBf16(const_cast<float*>(product.a) + row * product.lda, product.k);
  }
}

namespace {

// Points B of `product` to two panels in `scratch`, which it returns.
float* SetScratchB(PanelProduct& product, IndexRange depth, Scratch& scratch) {
  const int64_t width = PanelWidth();
  float* const panels = scratch.AtLeast<float>(2 * depth.size() * width);
  product.b = panels;
  product.ldb = width;
  product.panel_stride = depth.size() * width;
  product.padded = true;
  return panels;
}

// Clears the columns that vectors read behind the `columns` of a panel in scratch memory. Whatever
// lay there would not reach C, but numbers near zero make multiplications a hundred times slower.
void ClearUnusedLanes(float* panel, int64_t rows, int64_t columns) {
  constexpr int64_t kMostLanes = 16;
  const int64_t width = PanelWidth();
  const int64_t unused = std::min(DivCeil(columns, kMostLanes) * kMostLanes, width) - columns;
  for (int64_t i = 0; unused > 0 && i < rows; ++i) {
    std::fill_n(panel + i * width + columns, unused, 0.0F);
  }
}

}  // namespace

void SetB(PanelProduct& product, const PackedMatrix& b, int64_t index, IndexRange depth,
          Scratch& scratch) {
  const int64_t width = PanelWidth();
  if (b.format() == WeightFormat::kFloat32) {
    product.b = b.panel(index) + depth.begin * PanelWidth();
    product.ldb = PanelWidth();
    product.panel_stride = b.rows() * PanelWidth();
    product.padded = true;
    return;
  }
  float* const panels = SetScratchB(product, depth, scratch);
  for (int64_t column = 0; column < product.columns; column += width) {
    WidenPanel(b.format(), b.panel_bytes(index + column / width), depth.begin, depth.size(),
               panels + column / width * product.panel_stride);
  }
}

void SetB(PanelProduct& product, const NBitPanels& b, int64_t index, IndexRange depth,
          Scratch& scratch) {
  const int64_t width = PanelWidth();
  float* const panels = SetScratchB(product, depth, scratch);
  for (int64_t column = 0; column < product.columns; column += width) {
    Dequantize(b.panel(index + column / width), depth.begin, depth.end,
               panels + column / width * product.panel_stride);
  }
}

void SetB(PanelProduct& product, const GemmProblem& problem, int64_t index, IndexRange depth,
          Scratch& scratch) {
  const int64_t width = PanelWidth();
  const int64_t first = index * width;
  if (!CopiesB(problem, product.rows)) {
    product.b = problem.b.at(depth.begin, first);
    product.ldb = problem.b.row_stride;
    product.panel_stride = width;
    product.padded = false;
    return;
  }
  float* const panels = SetScratchB(product, depth, scratch);
  for (int64_t column = 0; column < product.columns; column += width) {
    float* const to = panels + column / width * product.panel_stride;
    const int64_t columns = std::min(width, product.columns - column);
    if (problem.b_source != nullptr) {
      problem.b_source->Copy(depth.begin, depth.size(), first + column, columns, to, width);
    } else {
      CopyBlock(problem.b, depth.begin, depth.size(), first + column, columns, to, width);
    }
    ClearUnusedLanes(to, depth.size(), columns);
  }
}

}  // namespace attnrun::ops
