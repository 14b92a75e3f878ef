// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/gated_activation.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/linear/activate.h"

namespace attnrun::ops {

GatedActivation::GatedActivation(AttributeReader& attributes)
    : activation_(ReadActivation(attributes)),
      width_(attributes.Required<int64_t>("width")),
      gate_(attributes.Required<int64_t>("gate")),
      up_(attributes.Required<int64_t>("up")) {}

absl::StatusOr<Shape> GatedActivation::Resolve(const OpContext& context) const {
  const Tensor& x = context.input(0);
  const int64_t columns = x.rank() == 0 ? 0 : x.dim(x.rank() - 1);
  const auto fits = [&](int64_t first) { return first >= 0 && first <= columns - width_; };
  if (!IsFloatingPoint(x.type()) || width_ < 1 || !fits(gate_) || !fits(up_)) {
    return absl::InvalidArgumentError(absl::StrCat("expected floats with ", width_,
                                                   " columns from ", gate_, " and from ", up_,
                                                   " on, but found ", TypeAndShape(x)));
  }
  Shape shape = x.shape();
  shape.back() = width_;
  return shape;
}

absl::Status GatedActivation::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, Resolve(context));
  const Tensor& x = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> in, ToDoubles(x));
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t count, NumElements(shape));
  std::vector<double> y(count);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = i / width_ * x.shape().back() + i % width_;
    y[i] = Activate(activation_, in[row + gate_]) * in[row + up_];
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor out, FromDoubles(x.type(), shape, y, context.allocator()));
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

void GatedActivation::Infer(InferContext& context) const {
  ValueFacts y;
  y.type = context.input(0).type;
  y.dims = context.input(0).dims;
  if (y.dims.has_value() && !y.dims->empty()) y.dims->back() = SymInt(width_);
  context.SetOutput(0, std::move(y));
}

}  // namespace attnrun::ops
