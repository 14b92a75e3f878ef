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

// A tensor [..., columns] of floats as a matrix: where its elements lie if they are one, else a
// dense copy, which `tensor` then is.
absl::StatusOr<MatrixView> RowsOf(Tensor& tensor, int64_t rows, int64_t columns,
                                  Allocator& allocator);

// As RowsOf, for a tensor that broadcasts to the output of `shape`.
absl::StatusOr<MatrixView> ResidualRows(Tensor& tensor, const LinearShape& shape,
                                        Allocator& allocator);

// What follows the product of a node with the inputs X, bias and residual of Linear, in memory as
// long as this exists.
class EpilogueInputs {
 public:
  // Precondition: ResolveRows accepted the shape.
  static absl::StatusOr<EpilogueInputs> Read(const OpContext& context, const LinearShape& shape,
                                             Activation activation);

  const Epilogue& epilogue() const { return epilogue_; }

 private:
  EpilogueInputs() = default;

  Epilogue epilogue_;
  Tensor bias_;
  Tensor residual_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_LINEAR_LINEAR_ROWS_H_
