// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_MICRO_KERNEL_H_
#define ATTNRUN_OPS_GEMM_MICRO_KERNEL_H_

#include <cstdint>

#include "ops/gemm/activation.h"

namespace attnrun::ops {

// The residual of a tile: `scale` times element [row, column] of [rows, columns], with these
// strides in floats. Null data: none.
struct TileResidual {
  const float* data = nullptr;
  int64_t row_stride = 0;
  int64_t column_stride = 0;
  float scale = 1;
};

// Some rows of A and a part of K times up to two panels of B. Strides are run-time numbers, so
// nothing is generated or cached per shape.
struct PanelProduct {
  // [rows, segments * k], `lda` floats between rows.
  const float* a;
  int64_t lda;
  // Where the segments of a row lie: each is k adjacent floats, from this many floats behind `a`
  // on. Null if there is one segment, at `a`; else B is packed.
  const int64_t* segment_offsets;
  int64_t segments;
  // [segments * k, columns]: panels of PanelWidth() columns, `panel_stride` floats between panels,
  // `ldb` between rows.
  const float* b;
  int64_t ldb;
  int64_t panel_stride;
  // [rows, columns], `ldc` floats between rows.
  float* c;
  int64_t ldc;
  int64_t rows;
  // At most 2 * PanelWidth().
  int64_t columns;
  // True if rows of B may be read up to a whole number of vectors, as in packed panels.
  bool padded;
  // The length of a segment.
  int64_t k;
  // Sums are cut into blocks that are added one by one: either a segment has this many blocks
  // (DepthParts), or a block has this many segments. One of them is 1.
  int64_t blocks;
  int64_t segments_per_block;
  // False for the first part of K: C is written, not added to.
  bool accumulate;
  // Applied to the sum after C was added; 1 before the last part of K.
  float scale;
  // [columns], added next; null before the last part of K.
  const float* bias;
  // Applied next; kNone before the last part of K.
  Activation activation;
  // Added last, or before the activation if `residual_first`, which asks for a column stride of 1;
  // no data before the last part of K.
  TileResidual residual;
  bool residual_first;
  // True if the panels are in cache because an earlier product had them as `next`.
  bool fetched;
  // Memory that the thread reads after this product, `next_bytes` long, to be prefetched into the
  // second-level cache meanwhile; null and 0 for none.
  const float* next;
  int64_t next_bytes;
};

// C = activation((A·B [+ C]) * scale [+ bias]) [+ residual], or with the residual inside. The sum
// of a block is a chain of fused multiply-adds in the order of k that starts at zero, whatever the
// number of rows and columns and the strides: the bits of an element of C depend only on its own
// row of A and column of B.
void MultiplyPanels(const PanelProduct& product);

// Columns of a panel of B, as suits this machine's registers.
int64_t PanelWidth();

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_MICRO_KERNEL_H_
