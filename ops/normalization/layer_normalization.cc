// SPDX-License-Identifier: Apache-2.0
#include "ops/normalization/layer_normalization.h"

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "core/strided.h"

namespace attnrun::ops {
namespace {

absl::Status CheckParameter(const OpContext& context, int i, DataType type) {
  const Tensor& parameter = context.input(i);
  if (parameter.type() != type || !IsFloatingPoint(type)) {
    return absl::InvalidArgumentError(absl::StrCat("expected input ", i, " to be floats like scale",
                                                   ", but it is ", TypeAndShape(parameter)));
  }
  return BroadcastStrides(parameter.shape(), context.input(0).shape()).status();
}

}  // namespace

absl::StatusOr<LayerNormalizationShape> ResolveShape(const LayerNormalizationSpec& spec,
                                                     const OpContext& context) {
  const Tensor& x = context.input(0);
  if (!IsFloatingPoint(x.type())) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected floats to normalize, but found ", TypeAndShape(x)));
  }
  if (!IsFloatingPoint(spec.stash)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected stash_type to be a float type, but it is ", Name(spec.stash)));
  }
  LayerNormalizationShape shape;
  ATTNRUN_ASSIGN_OR_RETURN(shape.axis, NormalizeAxis(spec.axis, x.rank()));
  for (int i = 1; i < context.num_inputs(); ++i) {
    if (!context.has_input(i)) continue;
    ATTNRUN_RETURN_IF_ERROR(CheckParameter(context, i, context.input(1).type()));
  }
  shape.statistics = x.shape();
  for (int i = 0; i < x.rank(); ++i) {
    (i < shape.axis ? shape.rows : shape.length) *= x.dim(i);
    if (i >= shape.axis) shape.statistics[i] = 1;
  }
  if (shape.length == 0 && shape.rows != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("nothing to normalize over: X is ", TypeAndShape(x), ", axis ", shape.axis));
  }
  return shape;
}

LayerNormalization::LayerNormalization(AttributeReader& attributes, LayerNormalizationSpec spec)
    : spec_(spec) {
  spec_.axis = attributes.Int("axis", -1);
  spec_.epsilon = attributes.Float("epsilon", 1e-5F);
  spec_.stash = attributes.ElementType("stash_type", DataType::kFloat);
}

void SimplifiedLayerNormalization::WriteBody(Body& body) const {
  if (body.wants(1)) return body.Fail("its statistics are read");
  body.Give(body.Op("RMSNormalization", {body.input(0), body.input(1)},
                    {{"axis", spec().axis},
                     {"epsilon", spec().epsilon},
                     {"stash_type", static_cast<int64_t>(spec().stash)}}));
}

}  // namespace attnrun::ops
