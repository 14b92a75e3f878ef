// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/activations.h"

#include <cmath>

#include "core/elements.h"
#include "core/status.h"
#include "ops/contrib/last_axis.h"
#include "ops/interface/axis_rules.h"
#include "ops/interface/infer_rules.h"
#include "ops/linear/activate.h"

namespace attnrun::ops {
BiasedActivation::BiasedActivation(AttributeReader& attributes, Function function)
    : function_(function) {
  if (function == Function::kSigmoid) alpha_ = attributes.Float("alpha", 1.702F);
}

double BiasedActivation::OfNumber(double x) const {
  if (function_ == Function::kErf) return Activate(Activation::kGelu, x);
  if (function_ == Function::kTanh) return Activate(Activation::kGeluTanh, x);
  return x / (1 + std::exp(-static_cast<double>(alpha_) * x));
}

absl::Status BiasedActivation::Reference(OpContext& context) const {
  const Tensor& x = context.input(0);
  ATTNRUN_RETURN_IF_ERROR(CheckFloats(x, 1));
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<double> y, ToDoubles(x));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> bias, ReadRow(context, 1, 0));
  for (size_t i = 0; i < y.size(); ++i) y[i] = OfNumber(y[i] + bias[i % bias.size()]);
  return SetDoubles(context, 0, x.type(), x.shape(), y);
}

void BiasedActivation::Infer(InferContext& context) const { InferLikeInput(context); }

absl::Status BiasSplitGelu::Reference(OpContext& context) const {
  const Tensor& x = context.input(0);
  ATTNRUN_RETURN_IF_ERROR(CheckFloats(x, 2));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> in, ToDoubles(x));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> bias, ReadRow(context, 1, 0));
  Shape shape = x.shape();
  const int64_t half = shape.back() / 2;
  shape.back() = half;
  std::vector<double> y(in.size() / 2);
  for (int64_t i = 0; i < std::ssize(y); ++i) {
    const int64_t left = i / half * 2 * half + i % half;
    const int64_t right = left + half;
    const double gelu = Activate(Activation::kGelu, in[right] + bias[right % (2 * half)]);
    y[i] = (in[left] + bias[left % (2 * half)]) * gelu;
  }
  return SetDoubles(context, 0, x.type(), shape, y);
}

void BiasSplitGelu::Infer(InferContext& context) const {
  std::optional<Dims> dims = context.input(0).dims;
  if (dims.has_value() && !dims->empty()) dims->back() = SymInt::Quotient(dims->back(), 2);
  SetDims(context, 0, std::move(dims));
}

void BiasSplitGelu::Axes(AxesContext& context) const { AddLeadingAxes(context); }

}  // namespace attnrun::ops
