// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_EINSUM_CONTRACTION_H_
#define ATTNRUN_OPS_EINSUM_CONTRACTION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/einsum/einsum.h"
#include "ops/gemm/matrix.h"

namespace attnrun::ops {

// An einsum of two operands as a stack of matrix products: labels in both operands and the output
// index the stack, labels in one operand and the output index rows or columns, and labels in both
// operands only are summed.
struct Contraction {
  // The operands that hold rows and columns: 0 and 1, or 1 and 0 if that makes the rows of the
  // output contiguous.
  int left;
  int right;
  Labels batch;
  Labels rows;
  Labels columns;
  Labels depth;

  // Nullopt unless there are two operands and each summed label is in both.
  static std::optional<Contraction> Of(const EinsumShape& shape);
};

Shape Extents(const EinsumShape& shape, const Labels& labels);

// The one stride that walks several axes, in the given order; nullopt if there is none.
std::optional<int64_t> CollapsedStride(const Shape& extents, const Shape& strides);

// An operand as a stack of matrices: a view where its strides allow, else a copy.
struct OperandStack {
  Tensor floats;
  MatrixView first;
  // The offsets at which the matrices begin, from the first element of `floats`.
  std::vector<int64_t> offsets;

  MatrixView at(int64_t i) const;
  static absl::StatusOr<OperandStack> Make(const EinsumShape& shape, int operand,
                                           const Tensor& floats, const Labels& batch,
                                           const Labels& rows, const Labels& columns,
                                           Allocator& allocator);
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_EINSUM_CONTRACTION_H_
