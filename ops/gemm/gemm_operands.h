// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_GEMM_OPERANDS_H_
#define ATTNRUN_OPS_GEMM_GEMM_OPERANDS_H_

#include <algorithm>
#include <cstdint>

#include "core/div_ceil.h"
#include "ops/gemm/gemm.h"
#include "ops/gemm/micro_kernel.h"
#include "ops/gemm/scratch.h"
#include "ops/tensors/index_range.h"

// Prepares blocks of A and B for the micro-kernel: in place, or copied to `scratch`, which must
// outlive the use of the product.
namespace attnrun::ops {

// Rows of the micro-kernel's tallest tile: blocks hold whole tiles as far as possible.
constexpr int64_t kTileRows = 8;
// Rows of A that stay in the second-level cache while all panels are multiplied.
constexpr int64_t kRowBlock = 128;
// Elements of K per block. Longer chains of sums cost accuracy: the root mean square error of
// BERT-base's outputs is 4.7e-7 with 128, 5.2e-7 with 192 and 5.7e-7 with 256, which save 0 to 1 %
// of the time.
constexpr int64_t kDepthBlock = 128;
// The number of blocks of K, as even as possible; at least one, since an empty sum is 0.
inline int64_t DepthBlocks(int64_t depth) {
  return std::max<int64_t>(DivCeil(depth, kDepthBlock), 1);
}

// The number of blocks of K per pass, at least one, for blocks of A of `rows` rows; a tile of C is
// fetched once per pass. The blocks of A fill three quarters of this machine's second-level cache,
// together with the panel in use, the panel being fetched and, if `copied`, the originals of the
// blocks.
int64_t DepthBlocksPerPass(int64_t rows, bool copied);

// True if blocks of A are copied before they are multiplied by `panels` panels of B: if they are
// not contiguous, or if all their rows begin at the same offset in a page, so that they would crowd
// into a few sets of the caches.
bool CopiesA(const MatrixView& a, int64_t panels);

// True if panels of B are copied.
bool CopiesB(const GemmProblem& problem, int64_t rows);

// Sets A of `product` to a block of `a`, in place or `copied`.
void SetA(PanelProduct& product, const MatrixView& a, IndexRange rows, IndexRange depth,
          bool copied, Scratch& scratch);

// Rows [first, first + count) of A with adjacent columns: in place, or copied.
MatrixView RowsOf(const MatrixView& a, int64_t first, int64_t count, Scratch& scratch);

// Rounds A of `product`, which SetA copied, to bf16.
void RoundA(PanelProduct& product);

// Sets B of `product`, whose rows and columns are set, to the rows `depth` of the panels from
// `index` on.
void SetB(PanelProduct& product, const PackedMatrix& b, int64_t index, IndexRange depth,
          Scratch& scratch);
// As above; dequantizes the panels.
void SetB(PanelProduct& product, const NBitPanels& b, int64_t index, IndexRange depth,
          Scratch& scratch);
// As above, for the unpacked B of a problem.
void SetB(PanelProduct& product, const GemmProblem& problem, int64_t index, IndexRange depth,
          Scratch& scratch);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_GEMM_OPERANDS_H_
