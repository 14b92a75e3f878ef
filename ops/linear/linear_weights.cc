// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/linear_weights.h"

#include <utility>

#include "core/status.h"
#include "ops/tensors/float_operands.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {

absl::StatusOr<Tensor> DenseFloats(const Tensor& tensor, Allocator& allocator) {
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor dense, tensor.Dense(allocator));
  return ToFloat(dense, allocator);
}

bool FitTogether(const FloatLinear& op, absl::Span<const Linear::Weight> weights) {
  const auto rows = [&](size_t i) {
    return weights[i].values.dim(op.is_transposed(static_cast<int>(i)) ? 1 : 0);
  };
  for (size_t i = 0; i < weights.size(); ++i) {
    const Tensor& weight = weights[i].values;
    if (!IsFloatOrHalf(weight.type()) || weight.rank() != 2 || rows(i) != rows(0)) return false;
  }
  return true;
}

SideBySide StoredWeights(const FloatLinear& op, absl::Span<const Linear::Weight> weights) {
  std::vector<StoredMatrix> parts;
  parts.reserve(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    const StoredMatrix part(weights[i].values);
    parts.push_back(op.is_transposed(static_cast<int>(i)) ? part.Transposed() : part);
  }
  return SideBySide(std::move(parts));
}

absl::StatusOr<FloatWeights> FloatWeights::Read(const FloatLinear& op,
                                                absl::Span<const Linear::Weight> weights,
                                                Allocator& allocator) {
  FloatWeights result;
  for (size_t i = 0; i < weights.size(); ++i) {
    ATTNRUN_ASSIGN_OR_RETURN(Tensor floats, DenseFloats(weights[i].values, allocator));
    const MatrixView view = {floats.data<float>(), floats.dim(0), floats.dim(1), floats.dim(1)};
    result.parts_.push_back(op.is_transposed(static_cast<int>(i)) ? view.Transposed() : view);
    result.floats_.push_back(std::move(floats));
  }
  return result;
}

}  // namespace attnrun::ops
