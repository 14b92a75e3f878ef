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

// An einsum of two operands as a stack of products of matrices: labels in both operands and the
// output number the stack, those in one operand and the output are rows or columns, and those in
// both operands only are summed.
struct Contraction {
  // The operands that give rows and columns: 0 and 1, or 1 and 0 where that makes the rows of the
  // output contiguous.
  int left;
  int right;
  Labels batch;
  Labels rows;
  Labels columns;
  Labels depth;

  // nullopt if there are not two operands, or one has a summed label that the other has not.
  static std::optional<Contraction> Of(const EinsumShape& shape);
};

Shape Extents(const EinsumShape& shape, const Labels& labels);

// The step that walks several axes as one, in the given order; nullopt if there is none.
std::optional<int64_t> CollapsedStride(const Shape& extents, const Shape& strides);

// An operand as a stack of matrices: a view where its axes allow, else a copy.
struct OperandStack {
  Tensor floats;
  MatrixView first;
  // Where the matrices begin, after the first element of `floats`.
  std::vector<int64_t> offsets;

  MatrixView at(int64_t i) const;
  static absl::StatusOr<OperandStack> Make(const EinsumShape& shape, int operand,
                                           const Tensor& floats, const Labels& batch,
                                           const Labels& rows, const Labels& columns,
                                           Allocator& allocator);
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_EINSUM_CONTRACTION_H_
