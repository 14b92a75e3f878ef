// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/linear_rows.h"

#include <optional>

#include "core/status.h"
#include "ops/linear/linear_weights.h"
#include "ops/tensors/broadcast_tensor.h"
#include "ops/tensors/float_operands.h"

namespace attnrun::ops {
namespace {

// The step between the rows of a tensor whose leading axes have these extents and strides; nullopt
// if there is no single one.
std::optional<int64_t> RowStride(absl::Span<const int64_t> extents,
                                 absl::Span<const int64_t> strides) {
  int64_t stride = 0;
  int64_t rows = 1;
  for (size_t axis = extents.size(); axis-- > 0;) {
    if (extents[axis] == 1) continue;
    if (rows == 1) stride = strides[axis];
    if (strides[axis] != stride * rows) return std::nullopt;
    rows *= extents[axis];
  }
  return stride;
}

}  // namespace

absl::StatusOr<MatrixView> RowsOf(Tensor& tensor, int64_t rows, int64_t columns,
                                  Allocator& allocator) {
  const Shape& strides = tensor.strides();
  if (tensor.type() == DataType::kFloat && !tensor.is_dense()) {
    const auto leading = absl::MakeSpan(tensor.shape()).first(tensor.rank() - 1);
    const std::optional<int64_t> step = RowStride(leading, strides);
    if (step.has_value()) {
      return MatrixView{tensor.data<float>(), rows, columns, *step, strides.back()};
    }
  }
  ATTNRUN_ASSIGN_OR_RETURN(tensor, tensor.Dense(allocator));
  ATTNRUN_ASSIGN_OR_RETURN(tensor, ToFloat(tensor, allocator));
  return MatrixView{tensor.data<float>(), rows, columns, columns};
}

absl::StatusOr<MatrixView> ResidualRows(Tensor& tensor, const LinearShape& shape,
                                        Allocator& allocator) {
  if (tensor.type() != DataType::kFloat) {
    ATTNRUN_ASSIGN_OR_RETURN(tensor, tensor.Dense(allocator));
    ATTNRUN_ASSIGN_OR_RETURN(tensor, ToFloat(tensor, allocator));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const Shape strides, BroadcastStridesOf(tensor, shape.output));
  const auto leading = absl::MakeSpan(shape.output).first(shape.output.size() - 1);
  const std::optional<int64_t> step = RowStride(leading, strides);
  if (!step.has_value()) {
    // No row stride describes how it repeats, such as over the batch: written out.
    const Tensor view = tensor.View(shape.output, strides, 0);
    ATTNRUN_ASSIGN_OR_RETURN(tensor, view.Dense(allocator));
    return MatrixView{tensor.data<float>(), shape.m, shape.n, shape.n};
  }
  return MatrixView{tensor.data<float>(), shape.m, shape.n, *step, strides.back()};
}

absl::StatusOr<EpilogueInputs> EpilogueInputs::Read(const OpContext& context,
                                                    const LinearShape& shape,
                                                    const Activation& activation) {
  EpilogueInputs inputs;
  inputs.epilogue_.activation = activation;
  if (context.has_input(Linear::kBias)) {
    ATTNRUN_ASSIGN_OR_RETURN(inputs.bias_,
                             DenseFloats(context.input(Linear::kBias), context.allocator()));
    inputs.epilogue_.bias = inputs.bias_.data<float>();
  }
  if (context.has_input(Linear::kResidual)) {
    inputs.residual_ = context.input(Linear::kResidual);
    ATTNRUN_ASSIGN_OR_RETURN(inputs.epilogue_.residual,
                             ResidualRows(inputs.residual_, shape, context.allocator()));
  }
  return inputs;
}

}  // namespace attnrun::ops
