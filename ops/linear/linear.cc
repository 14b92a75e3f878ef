// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/linear.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/interface/families.h"
#include "ops/interface/optional_input.h"
#include "ops/linear/activate.h"
#include "ops/linear/gated_activation.h"
#include "ops/linear/int8_linear.h"
#include "ops/linear/nbit_linear.h"

namespace attnrun::ops {
namespace {

absl::Status CheckTypes(const OpContext& context) {
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (!context.has_input(i) || IsFloatingPoint(context.input(i).type())) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("expected floats, but input ", i, " is ", TypeAndShape(context.input(i))));
  }
  return absl::OkStatus();
}

}  // namespace

Linear::Linear(AttributeReader& attributes)
    : transposed_(attributes.Ints(kTransposed)), activation_(ReadActivation(attributes)) {}

int Linear::NumWeights(size_t inputs) {
  return 1 + std::max(static_cast<int>(inputs) - kMoreWeights, 0);
}

// Sets K and N of the shape.
absl::Status Linear::ResolveWeights(const OpContext& context, LinearShape& shape) const {
  const Tensor& x = context.input(kX);
  shape.k = x.rank() == 0 ? 0 : x.shape().back();
  for (int i = 0; i < NumWeights(context.num_inputs()); ++i) {
    const int input = WeightInput(i);
    const Tensor weight = InputOrUndefined(context, input);
    if (x.rank() == 0 || weight.rank() != 2) {
      return absl::InvalidArgumentError(absl::StrCat("expected X of rank 1 or more and a matrix W",
                                                     i, ", but X is ", TypeAndShape(x), " and W", i,
                                                     " is ", TypeAndShape(weight)));
    }
    const auto [rows, columns] = WeightExtents(i, weight.shape());
    if (rows != shape.k) {
      return absl::InvalidArgumentError(absl::StrCat("K is ", shape.k, " in X", ToString(x.shape()),
                                                     ", but ", rows, " in W", i,
                                                     ToString(weight.shape())));
    }
    if (columns > INT64_MAX - shape.n) {
      return absl::InvalidArgumentError("the weights have more columns than 64 bits can count");
    }
    shape.n += columns;
  }
  return absl::OkStatus();
}

absl::Status ResolveRows(const OpContext& context, LinearShape& shape) {
  const Tensor& x = context.input(Linear::kX);
  shape.output = x.shape();
  shape.output.back() = shape.n;
  ATTNRUN_ASSIGN_OR_RETURN(shape.m, NumElements(absl::MakeSpan(x.shape()).first(x.rank() - 1)));
  if (context.has_input(Linear::kBias) && context.input(Linear::kBias).shape() != Shape{shape.n}) {
    return absl::InvalidArgumentError(absl::StrCat("expected bias of shape [", shape.n,
                                                   "], but it is ",
                                                   TypeAndShape(context.input(Linear::kBias))));
  }
  if (!context.has_input(Linear::kResidual)) return absl::OkStatus();
  const Shape& residual = context.input(Linear::kResidual).shape();
  const absl::StatusOr<Shape> sum = BroadcastShapes(residual, shape.output);
  if (sum.ok() && *sum == shape.output) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "residual ", ToString(residual), " does not broadcast to Y", ToString(shape.output)));
}

absl::StatusOr<LinearShape> Linear::Resolve(const OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckTypes(context));
  LinearShape shape;
  ATTNRUN_RETURN_IF_ERROR(ResolveWeights(context, shape));
  ATTNRUN_RETURN_IF_ERROR(ResolveRows(context, shape));
  return shape;
}

SymInt Linear::InferColumns(const InferContext& context) const {
  SymInt columns(0);
  for (int i = 0; i < NumWeights(context.num_inputs()); ++i) {
    const int input = WeightInput(i);
    if (!context.has_input(input)) return SymInt::Unknown();
    const auto& weight = context.input(input).dims;
    if (!weight.has_value() || weight->size() != 2) return SymInt::Unknown();
    columns = columns + (*weight)[is_transposed(i) ? 0 : 1];
  }
  return columns;
}

void Linear::Infer(InferContext& context) const {
  ValueFacts y;
  y.type = context.input(kX).type;
  const auto& x = context.input(kX).dims;
  if (x.has_value() && !x->empty()) {
    y.dims = x;
    y.dims->back() = InferColumns(context);
  }
  context.SetOutput(0, std::move(y));
}

void RegisterLinear(OpRegistry& registry) {
  registry.Register({.domain = "attnrun",
                     .name = "Linear",
                     .since = {1},
                     .inputs = {2, kVariadic},
                     .outputs = {1, 1},
                     .make = Make<Linear>});
  registry.Register({.domain = "attnrun",
                     .name = "QuantizedLinear",
                     .since = {1},
                     .inputs = {2, kVariadic},
                     .outputs = {1, 1},
                     .make = Make<Int8Linear>});
  registry.Register({.domain = "attnrun",
                     .name = "BlockQuantizedLinear",
                     .since = {1},
                     .inputs = {2, kVariadic},
                     .outputs = {1, 1},
                     .make = Make<NBitLinear>});
  registry.Register({"attnrun", "GatedActivation", {1}, {1, 1}, {1, 1}, Make<GatedActivation>});
}

}  // namespace attnrun::ops
