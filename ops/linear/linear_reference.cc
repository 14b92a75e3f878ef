// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "core/elements.h"
#include "core/status.h"
#include "core/strided.h"
#include "ops/linear/activate.h"
#include "ops/linear/linear.h"

namespace attnrun::ops {
namespace {

// Reads an optional input; no elements if left out.
absl::StatusOr<std::vector<double>> Read(const OpContext& context, int input) {
  if (!context.has_input(input)) return std::vector<double>();
  return ToDoubles(context.input(input));
}

// The weights side by side, row by row.
absl::StatusOr<std::vector<double>> ReadWeights(const Linear& op, const OpContext& context,
                                                const LinearShape& shape) {
  std::vector<double> all(shape.k * shape.n);
  int64_t first = 0;
  for (int i = 0; i < Linear::NumWeights(context.num_inputs()); ++i) {
    const int input = Linear::WeightInput(i);
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> weight, Read(context, input));
    const int64_t columns = op.WeightExtents(i, context.input(input).shape()).second;
    for (int64_t k = 0; k < shape.k; ++k) {
      for (int64_t j = 0; j < columns; ++j) {
        all[k * shape.n + first + j] =
            weight[op.is_transposed(i) ? j * shape.k + k : k * columns + j];
      }
    }
    first += columns;
  }
  return all;
}

}  // namespace

absl::Status Linear::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const LinearShape shape, Resolve(context));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor sums,
                           Tensor::Allocate(DataType::kDouble, shape.output, context.allocator()));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> x, Read(context, kX));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> weight, ReadWeights(*this, context, shape));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> bias, Read(context, kBias));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> residual, Read(context, kResidual));
  auto* const y = sums.mutable_data<double>();
  for (int64_t i = 0; i < sums.num_elements(); ++i) {
    const int64_t row = i / shape.n;
    const int64_t column = i % shape.n;
    double sum = bias.empty() ? 0 : bias[column];
    for (int64_t k = 0; k < shape.k; ++k) {
      sum += x[row * shape.k + k] * weight[k * shape.n + column];
    }
    y[i] = Activate(activation_, sum);
  }
  if (context.has_input(kResidual)) {
    ATTNRUN_ASSIGN_OR_RETURN(const Shape strides,
                             BroadcastStrides(context.input(kResidual).shape(), shape.output));
    auto* out = y;
    ForEachOffset(shape.output, strides, [&](int64_t offset) { *out++ += residual[offset]; });
  }
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor result, FromDoubles(context.input(kX).type(), shape.output,
                                 absl::MakeSpan(y, sums.num_elements()), context.allocator()));
  context.SetOutput(0, std::move(result));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
