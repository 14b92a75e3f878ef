// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_MICRO_KERNEL_H_
#define ATTNRUN_OPS_GEMM_MICRO_KERNEL_H_

#include <cstdint>

#include "ops/gemm/activation.h"

namespace attnrun::ops {

// A residual as rows of C meet it: `scale` times element [row, column] of [rows, columns], which
// lies `row_stride` and `column_stride` floats from its neighbours. No data: there is none.
struct TileResidual {
  const float* data = nullptr;
  int64_t row_stride = 0;
  int64_t column_stride = 0;
  float scale = 1;
};

// Some rows of A times some of K of up to two panels of B. Strides are run-time numbers, so there
// is nothing to generate or to cache per shape.
struct PanelProduct {
  // [rows, k], `lda` floats from row to row.
  const float* a;
  int64_t lda;
  // [k, columns]: panels of PanelWidth() columns, `panel_stride` floats from panel to panel, `ldb`
  // from row to row.
  const float* b;
  int64_t ldb;
  int64_t panel_stride;
  // [rows, columns], `ldc` floats from row to row.
  float* c;
  int64_t ldc;
  int64_t rows;
  // At most 2 * PanelWidth().
  int64_t columns;
  // Whether rows of B may be read up to a whole number of vectors, as those of packed panels.
  bool padded;
  int64_t k;
  // K is summed in so many blocks, as even as possible, whose sums are added one by one.
  int64_t blocks;
  // False at the beginning of K: C is written, not added to.
  bool accumulate;
  // Applied to the sum, after what C held is added: 1 but at the end of K.
  float scale;
  // [columns], added to that; null but at the end of K.
  const float* bias;
  // Applied to that; kNone but at the end of K.
  Activation activation;
  // Added last; no data but at the end of K.
  TileResidual residual;
  // Whether the panels are in cache, since they were somebody's `next`.
  bool fetched;
  // What the thread reads after this product, so many bytes, brought into the second-level cache
  // meanwhile; null and 0: nothing.
  const float* next;
  int64_t next_bytes;
};

// C = activation((A·B [+ C]) * scale [+ bias]) [+ residual]. Every block's sum is a chain of fused
// multiply-adds in the order of k that starts at zero, whatever the number of rows and columns and
// the strides: the bits of an element of C depend only on its own row of A and column of B.
void MultiplyPanels(const PanelProduct& product);

// Columns of a panel of B that suits this machine's registers.
int64_t PanelWidth();

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_MICRO_KERNEL_H_
