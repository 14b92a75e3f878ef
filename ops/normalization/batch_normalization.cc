// SPDX-License-Identifier: Apache-2.0
#include "ops/normalization/batch_normalization.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace attnrun::ops {

BatchNormalization::BatchNormalization(AttributeReader& attributes)
    : epsilon_(attributes.Float("epsilon", 1e-5F)), momentum_(attributes.Float("momentum", 0.9F)) {
  if (attributes.version() == 7) per_channel_ = attributes.Int("spatial", 1) != 0;
  if (attributes.version() >= 14) training_ = attributes.Int("training_mode", 0) != 0;
}

absl::StatusOr<BatchNormalizationShape> BatchNormalization::ResolveShape(
    const OpContext& context) const {
  const Tensor& x = context.input(0);
  if (!IsFloatingPoint(x.type()) || x.rank() < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected floats of shape [batch,channels,...], but found ", TypeAndShape(x)));
  }
  if (!training_) {
    for (int i = 1; i < context.num_outputs(); ++i) {
      if (context.wants_output(i)) {
        return absl::UnimplementedError("training outputs are not covered outside training_mode");
      }
    }
  }
  BatchNormalizationShape shape;
  if (x.rank() > 1) shape.features = x.dim(1);
  for (int i = 2; i < x.rank(); ++i) {
    (per_channel_ ? shape.spatial : shape.features) *= x.dim(i);
  }
  for (int i = 1; i < 5; ++i) {
    const Tensor& parameter = context.input(i);
    if (!IsFloatingPoint(parameter.type()) || parameter.num_elements() != shape.features ||
        (per_channel_ && parameter.rank() != 1)) {
      return absl::InvalidArgumentError(absl::StrCat("expected input ", i, " to hold ",
                                                     shape.features, " floats, but it is ",
                                                     TypeAndShape(parameter)));
    }
  }
  return shape;
}

}  // namespace attnrun::ops
