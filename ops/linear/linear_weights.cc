// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/linear_weights.h"

#include "core/status.h"
#include "ops/tensors/float_operands.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {

absl::StatusOr<Tensor> DenseFloats(const Tensor& tensor, Allocator& allocator) {
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor dense, tensor.Dense(allocator));
  return ToFloat(dense, allocator);
}

std::vector<Tensor> WeightsAmong(size_t inputs, absl::FunctionRef<Tensor(int)> input) {
  const int count = Linear::NumWeights(inputs);
  std::vector<Tensor> weights;
  weights.reserve(count);
  for (int i = 0; i < count; ++i) {
    weights.push_back(input(Linear::WeightInput(i)));
  }
  return weights;
}

bool FitTogether(const Linear& op, absl::Span<const Tensor> weights) {
  for (size_t i = 0; i < weights.size(); ++i) {
    const bool matrix = IsFloatOrHalf(weights[i].type()) && weights[i].rank() == 2;
    if (!matrix) return false;
    const int64_t rows = op.WeightExtents(i, weights[i].shape()).first;
    if (rows != op.WeightExtents(0, weights[0].shape()).first) return false;
  }
  return true;
}

absl::StatusOr<FloatWeights> FloatWeights::Read(const Linear& op, absl::Span<const Tensor> weights,
                                                Allocator& allocator) {
  FloatWeights result;
  for (size_t i = 0; i < weights.size(); ++i) {
    ATTNRUN_ASSIGN_OR_RETURN(Tensor floats, DenseFloats(weights[i], allocator));
    const MatrixView view = {floats.data<float>(), floats.dim(0), floats.dim(1), floats.dim(1)};
    result.parts_.push_back(op.is_transposed(i) ? view.Transposed() : view);
    result.floats_.push_back(std::move(floats));
  }
  return result;
}

}  // namespace attnrun::ops
