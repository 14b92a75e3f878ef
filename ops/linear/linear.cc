#include "ops/linear/linear.h"

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/linear/activate.h"
#include "ops/linear/gated_activation.h"

namespace attnrun {
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
    : transpose_weight_(attributes.Int("trans_w", 0) != 0),
      activation_(ReadActivation(attributes)) {}

absl::StatusOr<LinearShape> Linear::Resolve(const OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckTypes(context));
  const Tensor& x = context.input(kX);
  const Tensor& weight = context.input(kWeight);
  if (x.rank() == 0 || weight.rank() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected X of rank 1 or more and a matrix W, but X is ", TypeAndShape(x),
                     " and W is ", TypeAndShape(weight)));
  }
  LinearShape shape;
  shape.k = weight.dim(transpose_weight_ ? 1 : 0);
  shape.n = weight.dim(transpose_weight_ ? 0 : 1);
  shape.output = x.shape();
  shape.output.back() = shape.n;
  if (x.shape().back() != shape.k) {
    return absl::InvalidArgumentError(absl::StrCat("K is ", x.shape().back(), " in X",
                                                   ToString(x.shape()), ", but ", shape.k, " in W",
                                                   ToString(weight.shape())));
  }
  const absl::Span<const int64_t> leading = absl::MakeSpan(x.shape()).first(x.rank() - 1);
  ATTNRUN_ASSIGN_OR_RETURN(shape.m, NumElements(leading));
  if (context.has_input(kBias) && context.input(kBias).shape() != Shape{shape.n}) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected bias of shape [", shape.n, "], but it is ", TypeAndShape(context.input(kBias))));
  }
  if (context.has_input(kResidual)) {
    const Shape& residual = context.input(kResidual).shape();
    const absl::StatusOr<Shape> sum = BroadcastShapes(residual, shape.output);
    if (!sum.ok() || *sum != shape.output) {
      return absl::InvalidArgumentError(absl::StrCat(
          "residual ", ToString(residual), " does not broadcast to Y", ToString(shape.output)));
    }
  }
  return shape;
}

void Linear::Infer(InferContext& context) const {
  ValueFacts y;
  y.type = context.input(kX).type;
  const auto& x = context.input(kX).dims;
  const auto& weight = context.input(kWeight).dims;
  if (x.has_value() && !x->empty() && weight.has_value() && weight->size() == 2) {
    y.dims = x;
    y.dims->back() = (*weight)[transpose_weight_ ? 0 : 1];
  }
  context.SetOutput(0, std::move(y));
}

void RegisterLinear(OpRegistry& registry) {
  registry.Register({.domain = "attnrun",
                     .name = "Linear",
                     .since = {1},
                     .inputs = {2, 4},
                     .outputs = {1, 1},
                     .make = Make<Linear>});
  registry.Register({"attnrun", "GatedActivation", {1}, {1, 1}, {1, 1}, Make<GatedActivation>});
}

}  // namespace attnrun
