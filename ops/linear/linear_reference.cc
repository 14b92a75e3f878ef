// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "core/elements.h"
#include "core/status.h"
#include "core/strided.h"
#include "ops/linear/activate.h"
#include "ops/linear/linear.h"

namespace attnrun::ops {
namespace {

// x [M, K] times the columns [N, K].
std::vector<double> Multiply(const std::vector<double>& x, const std::vector<double>& columns,
                             const LinearShape& shape) {
  std::vector<double> sums(shape.m * shape.n);
  for (size_t i = 0; i < sums.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / shape.n * shape.k;
    const int64_t column = static_cast<int64_t>(i) % shape.n * shape.k;
    for (int64_t k = 0; k < shape.k; ++k) sums[i] += x[row + k] * columns[column + k];
  }
  return sums;
}

}  // namespace

absl::StatusOr<std::vector<double>> Linear::ReadX(const OpContext& context) const {
  return ToDoubles(context.input(kX));
}

absl::StatusOr<std::vector<double>> Linear::ReadElements(const Weight& weight) const {
  return ToDoubles(weight.values);
}

absl::StatusOr<std::vector<double>> Linear::ReadColumns(const OpContext& context, int64_t k) const {
  std::vector<double> all;
  int index = 0;
  for (const Weight& weight : Weights(context)) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> elements, ReadElements(weight));
    const auto columns = weight.values.shape()[ColumnAxis(index)];
    const bool by_row = ColumnAxis(index++) == 1;
    for (int64_t i = 0; i < std::ssize(elements); ++i) {
      all.push_back(elements[by_row ? i % k * columns + i / k : i]);
    }
  }
  return all;
}

absl::Status Linear::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const LinearShape shape, Resolve(context));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> x, ReadX(context));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> columns, ReadColumns(context, shape.k));
  std::vector<double> y = Multiply(x, columns, shape);
  ATTNRUN_RETURN_IF_ERROR(ScaleSums(context, y));
  if (context.has_input(kBias)) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> bias, ToDoubles(context.input(kBias)));
    for (size_t i = 0; i < y.size(); ++i) y[i] += bias[i % bias.size()];
  }
  for (double& element : y) element = Activate(activation_, element);
  if (context.has_input(kResidual)) {
    const Tensor& residual = context.input(kResidual);
    ATTNRUN_ASSIGN_OR_RETURN(const Shape strides, BroadcastStrides(residual.shape(), shape.output));
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> terms, ToDoubles(residual));
    auto out = y.begin();
    ForEachOffset(shape.output, strides, [&](int64_t offset) { *out++ += terms[offset]; });
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor result, FromDoubles(OutputType(context.input(kX).type()),
                                                      shape.output, y, context.allocator()));
  context.SetOutput(0, std::move(result));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
