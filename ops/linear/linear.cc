// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/linear.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/interface/families.h"
#include "ops/interface/optional_input.h"
#include "ops/linear/activate.h"
#include "ops/linear/float_linear.h"
#include "ops/linear/gated_activation.h"
#include "ops/linear/int8_linear.h"
#include "ops/linear/nbit_linear.h"

namespace attnrun::ops {

std::unique_ptr<Linear> Linear::Make(AttributeReader& attributes) {
  // The reader has recorded an error for any other name.
  const std::string name = attributes.OneOf(kLinearFormat, "", kLinearFormatNames);
  switch (LinearFormatNamed(name).value_or(LinearFormat::kFloat)) {
    case LinearFormat::kInt8:
      return std::make_unique<Int8Linear>(attributes);
    case LinearFormat::kNBit:
      return std::make_unique<NBitLinear>(attributes);
    case LinearFormat::kFloat:
      break;
  }
  return std::make_unique<FloatLinear>(attributes);
}

Linear::Linear(LinearFormat format, AttributeReader& attributes)
    : inputs_(format), activation_(ReadActivation(attributes)) {}

LinearWeights<Tensor> Linear::Weights(const OpContext& context) const {
  return inputs_.Weights(context.num_inputs(), [&](int i) { return InputOrUndefined(context, i); });
}

LinearWeights<Tensor> Linear::Weights(const KernelContext& context) const {
  return inputs_.Weights(context.constants.size(), [&](int i) { return context.constants[i]; });
}

absl::StatusOr<LinearShape> Linear::Resolve(const OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckTypes(context));
  const LinearWeights<Tensor> weights = Weights(context);
  int64_t columns = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const int index = static_cast<int>(i);
    ATTNRUN_RETURN_IF_ERROR(CheckWeight(context.input(kX), index, weights[i]));
    const int64_t more = weights[i].values.shape()[ColumnAxis(index)];
    if (more > INT64_MAX - columns) {
      return absl::InvalidArgumentError("the weights have more columns than 64 bits can count");
    }
    columns += more;
  }
  return ShapeOf(context, columns);
}

absl::StatusOr<LinearShape> Linear::ResolveRows(const OpContext& context, int64_t columns) const {
  ATTNRUN_RETURN_IF_ERROR(CheckTypes(context));
  return ShapeOf(context, columns);
}

absl::StatusOr<LinearShape> Linear::ShapeOf(const OpContext& context, int64_t columns) {
  const Tensor& x = context.input(kX);
  LinearShape shape = {.m = 0, .k = x.shape().back(), .n = columns, .output = x.shape()};
  shape.output.back() = columns;
  ATTNRUN_ASSIGN_OR_RETURN(shape.m, NumElements(absl::MakeSpan(x.shape()).first(x.rank() - 1)));
  if (context.has_input(kBias) && context.input(kBias).shape() != Shape{columns}) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected bias of shape [", columns, "], but it is ", TypeAndShape(context.input(kBias))));
  }
  if (!context.has_input(kResidual)) return shape;
  const Shape& residual = context.input(kResidual).shape();
  const absl::StatusOr<Shape> sum = BroadcastShapes(residual, shape.output);
  if (sum.ok() && *sum == shape.output) return shape;
  return absl::InvalidArgumentError(absl::StrCat(
      "residual ", ToString(residual), " does not broadcast to Y", ToString(shape.output)));
}

absl::Status Linear::CheckMatrix(const Tensor& x, int index, const Tensor& values) const {
  const std::string name = absl::StrCat("W", index);
  if (x.rank() == 0 || values.rank() != 2) {
    return absl::InvalidArgumentError(absl::StrCat("expected X of rank 1 or more and a matrix ",
                                                   name, ", but X is ", TypeAndShape(x), " and ",
                                                   name, " is ", TypeAndShape(values)));
  }
  const int64_t rows = values.shape()[1 - ColumnAxis(index)];
  if (rows == x.shape().back()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("K is ", x.shape().back(), " in X",
                                                 ToString(x.shape()), ", but ", rows, " in ", name,
                                                 ToString(values.shape())));
}

int64_t Linear::Flops(const OpContext& context) const {
  const absl::StatusOr<LinearShape> shape = Resolve(context);
  return shape.ok() ? 2 * shape->m * shape->k * shape->n : 0;
}

void Linear::Infer(InferContext& context) const {
  ValueFacts y;
  y.type = OutputType(context.input(kX).type);
  y.dims = context.input(kX).dims;
  if (y.dims.has_value() && !y.dims->empty()) {
    SymInt columns(0);
    for (int i = 0; i < inputs_.NumWeights(context.num_inputs()); ++i) {
      const int input = inputs_.PositionsOf(i).values;
      const size_t axis = ColumnAxis(i);
      const bool has = context.has_input(input) && context.input(input).dims.has_value();
      const bool known = has && context.input(input).dims->size() > axis;
      columns = known ? columns + (*context.input(input).dims)[axis] : SymInt::Unknown();
    }
    y.dims->back() = columns;
  }
  context.SetOutput(0, std::move(y));
}

std::vector<bool> HaveZeroPoints(absl::Span<const Linear::Weight> weights) {
  std::vector<bool> have;
  have.reserve(weights.size());
  for (const Linear::Weight& weight : weights) have.push_back(weight.zero_points.defined());
  return have;
}

void RegisterLinear(OpRegistry& registry) {
  registry.Register({.domain = "attnrun",
                     .name = "Linear",
                     .since = {1},
                     .inputs = {2, kVariadic},
                     .outputs = {1, 1},
                     .make = Linear::Make,
                     .traits = kMultiplies | kTakesAnyRank});
  registry.Register({"attnrun", "GatedActivation", {1}, {1, 1}, {1, 1}, Make<GatedActivation>});
}

}  // namespace attnrun::ops
