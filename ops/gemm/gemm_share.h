// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_GEMM_SHARE_H_
#define ATTNRUN_OPS_GEMM_GEMM_SHARE_H_

#include <cstdint>

#include "ops/gemm/gemm.h"
#include "ops/gemm/gemm_operands.h"
#include "ops/gemm/micro_kernel.h"

namespace attnrun::ops {

inline IndexRange Part(int64_t count, int64_t part, int64_t parts) {
  return {count * part / parts, count * (part + 1) / parts};
}

// One thread's share of one product: some rows of C, and some panels of PanelWidth() columns.
struct Share {
  IndexRange rows;
  IndexRange panels;
};

// The residual of the tile of C that begins at this row and column.
TileResidual ResidualAt(const Epilogue& epilogue, int64_t row, int64_t column);

// Computes one share of `problem`. With a packed `b`, only the extents of problem.b are used.
void MultiplyShare(const GemmProblem& problem, const PackedMatrix& b, const Share& share);
void MultiplyShare(const GemmProblem& problem, const NBitPanels& b, const Share& share);
void MultiplyShare(const GemmProblem& problem, const Share& share);

// Applies the epilogue of `problem` to sums in C: these rows, and `columns` columns from `column`
// on, at most 2 * PanelWidth().
void ApplyEpilogue(const GemmProblem& problem, IndexRange rows, int64_t column, int64_t columns);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_GEMM_SHARE_H_
