// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_LINEAR_LINEAR_ROWS_H_
#define ATTNRUN_OPS_LINEAR_LINEAR_ROWS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "attnrun/tensor.h"
#include "ops/gemm/gemm.h"
#include "ops/gemm/matrix.h"
#include "ops/linear/linear.h"

namespace attnrun::ops {

// A tensor [..., columns] of floats as a matrix. If its rows do not have one stride, `tensor`
// becomes a dense copy.
absl::StatusOr<MatrixView> RowsOf(Tensor& tensor, int64_t rows, int64_t columns,
                                  Allocator& allocator);

// As RowsOf, for a residual that broadcasts to the output of `shape`.
absl::StatusOr<MatrixView> ResidualRows(Tensor& tensor, const LinearShape& shape,
                                        Allocator& allocator);

// The epilogue of a node with the inputs X, bias and residual of Linear. Holds the memory that the
// epilogue points to.
class EpilogueInputs {
 public:
  // Precondition: ResolveRows accepted the shape.
  static absl::StatusOr<EpilogueInputs> Read(const OpContext& context, const LinearShape& shape,
                                             const Activation& activation);

  const Epilogue& epilogue() const { return epilogue_; }

 private:
  EpilogueInputs() = default;

  Epilogue epilogue_;
  Tensor bias_;
  Tensor residual_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_LINEAR_LINEAR_ROWS_H_
