// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_LINEAR_FEW_COLUMNS_H_
#define ATTNRUN_OPS_LINEAR_FEW_COLUMNS_H_

#include <vector>

#include "ops/gemm/gemm.h"
#include "ops/gemm/side_by_side.h"

namespace attnrun::ops {

// Weights of so few columns that a panel of them would be mostly padding: rows are multiplied as
// dot products.
class FewColumns {
 public:
  // True if `weights` are better multiplied so.
  static bool Serves(const SideBySide& weights);

  // Precondition: Serves(weights).
  explicit FewColumns(const SideBySide& weights);

  // C = epilogue(A·W) on up to NumThreads() threads; the rows of C follow each other. An element's
  // bits depend on its row of A alone. Precondition: a.column_stride is 1.
  void Multiply(const MatrixView& a, float* c, const Epilogue& epilogue) const;

 private:
  // [columns, K]
  std::vector<float> columns_;
  int64_t count_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_LINEAR_FEW_COLUMNS_H_
