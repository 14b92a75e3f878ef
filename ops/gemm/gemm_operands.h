// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_GEMM_OPERANDS_H_
#define ATTNRUN_OPS_GEMM_GEMM_OPERANDS_H_

#include <cstdint>

#include "ops/gemm/gemm.h"
#include "ops/gemm/micro_kernel.h"
#include "ops/tensors/index_range.h"

// Blocks of A and B as our own micro-kernel reads them: in place, or copied to scratch space of the
// thread.
namespace attnrun::ops {

// Rows of the micro-kernel's tallest tile: blocks are cut to whole ones as far as possible.
constexpr int64_t kTileRows = 8;
// Rows of A that stay in the second-level cache while all panels pass by.
constexpr int64_t kRowBlock = 128;
// Longer chains of sums cost accuracy: the root mean square error of BERT-base's outputs is 4.7e-7
// with 128, 5.2e-7 with 192 and 5.7e-7 with 256, for 0 to 1 % of the time.
constexpr int64_t kDepthBlock = 128;

// How many blocks of K follow each other, so that a tile of C is fetched once for all of them:
// those of A, so many rows high, fill three quarters of this machine's second-level cache together
// with those of the panel in use and of the one being fetched, and with what they were copied from
// if they are `copied`. At least one.
int64_t DepthBlocksPerPass(int64_t rows, bool copied);

// Whether blocks of A are copied before so many panels of B meet them: those that are not
// contiguous, and those whose rows all begin at the same place of a page, so that they fill some
// sets of the caches and leave others empty.
bool CopiesA(const MatrixView& a, int64_t panels);

// Whether panels of B are.
bool CopiesB(const GemmProblem& problem, int64_t rows);

// Sets A of `product` to a block of `a`, in place or `copied`.
void SetA(PanelProduct& product, const MatrixView& a, IndexRange rows, IndexRange depth,
          bool copied);

// Sets B of `product`, whose rows and columns are set, to the rows `depth` of the panels from
// `index` on.
void SetB(PanelProduct& product, const PackedMatrix& b, int64_t index, IndexRange depth);
// As above, and dequantizes them.
void SetB(PanelProduct& product, const NBitPanels& b, int64_t index, IndexRange depth);
// As above, for the B of a problem, which is not packed.
void SetB(PanelProduct& product, const GemmProblem& problem, int64_t index, IndexRange depth);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_GEMM_OPERANDS_H_
