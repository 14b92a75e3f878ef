// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "core/elements.h"
#include "core/status.h"
#include "core/strided.h"
#include "ops/linear/activate.h"
#include "ops/linear/int8_linear.h"

namespace attnrun::ops {
namespace {

// Read optional inputs; no elements if left out.
absl::StatusOr<std::vector<int64_t>> ReadInts(const OpContext& context, int input) {
  if (!context.has_input(input)) return std::vector<int64_t>();
  return ToInts(context.input(input));
}
absl::StatusOr<std::vector<double>> ReadDoubles(const OpContext& context, int input) {
  if (!context.has_input(input)) return std::vector<double>();
  return ToDoubles(context.input(input));
}

// The element of a column in a list with one element per column, one for all, or none, which means
// 0.
template <typename T>
T OfColumn(const std::vector<T>& values, int64_t column) {
  if (values.empty()) return 0;
  return values[values.size() == 1 ? 0 : column];
}

// The weights side by side less their zero points, row by row.
absl::StatusOr<std::vector<int64_t>> ReadWeights(const OpContext& context,
                                                 const LinearShape& shape) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> zeros,
                           ReadInts(context, Int8Linear::kWeightZeroPoint));
  std::vector<int64_t> all(shape.k * shape.n);
  int64_t first = 0;
  for (int i = 0; i < Int8Linear::NumWeights(context.num_inputs()); ++i) {
    const int input = Int8Linear::WeightInput(i);
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> weight, ReadInts(context, input));
    const int64_t columns = context.input(input).dim(1);
    for (int64_t k = 0; k < shape.k; ++k) {
      for (int64_t j = 0; j < columns; ++j) {
        all[k * shape.n + first + j] = weight[k * columns + j] - OfColumn(zeros, first + j);
      }
    }
    first += columns;
  }
  return all;
}

}  // namespace

absl::Status Int8Linear::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const LinearShape shape, Resolve(context));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> x, ReadInts(context, kX));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> x_zero, ReadInts(context, kXZeroPoint));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> weight, ReadWeights(context, shape));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> x_scale, ReadDoubles(context, kXScale));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> w_scale, ReadDoubles(context, kWeightScale));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> bias, ReadDoubles(context, kBias));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> residual, ReadDoubles(context, kResidual));
  std::vector<double> y(shape.m * shape.n);
  for (size_t i = 0; i < y.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / shape.n;
    const int64_t column = static_cast<int64_t>(i) % shape.n;
    int64_t sum = 0;
    for (int64_t k = 0; k < shape.k; ++k) {
      sum += (x[row * shape.k + k] - OfColumn(x_zero, 0)) * weight[k * shape.n + column];
    }
    const double scale = x_scale[0] * OfColumn(w_scale, column);
    const double scaled = static_cast<double>(static_cast<int32_t>(sum)) * scale;
    y[i] = Activate(activation_, scaled + OfColumn(bias, column));
  }
  if (context.has_input(kResidual)) {
    ATTNRUN_ASSIGN_OR_RETURN(const Shape strides,
                             BroadcastStrides(context.input(kResidual).shape(), shape.output));
    auto out = y.begin();
    ForEachOffset(shape.output, strides, [&](int64_t offset) { *out++ += residual[offset]; });
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor result,
                           FromDoubles(DataType::kFloat, shape.output, y, context.allocator()));
  context.SetOutput(0, std::move(result));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
