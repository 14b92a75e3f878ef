// SPDX-License-Identifier: Apache-2.0
#include "ops/normalization/group_normalization.h"

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace attnrun::ops {

GroupNormalization::GroupNormalization(AttributeReader& attributes, bool instance)
    : epsilon_(attributes.Float("epsilon", 1e-5F)),
      instance_(instance),
      parameters_per_group_(!instance && attributes.version() < 21) {
  if (!instance) groups_ = attributes.Required<int64_t>("num_groups");
  // stash_type is the precision of the first stage, which is never below float here.
  if (!instance && attributes.version() >= 21) attributes.Ignore("stash_type");
}

absl::StatusOr<GroupNormalizationShape> GroupNormalization::ResolveShape(
    const OpContext& context) const {
  const Tensor& x = context.input(0);
  if (!IsFloatingPoint(x.type()) || x.rank() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected floats of shape [batch,channels,...], but found ", TypeAndShape(x)));
  }
  const int64_t channels = x.dim(1);
  const int64_t groups = instance_ ? channels : groups_;
  if (!instance_ && (groups <= 0 || channels % groups != 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_groups ", groups, " does not divide the ", channels, " channels of X"));
  }
  const int64_t parameters = parameters_per_group_ ? groups : channels;
  for (int i = 1; i < 3; ++i) {
    const Tensor& parameter = context.input(i);
    if (parameter.type() != x.type() || parameter.rank() != 1 || parameter.dim(0) != parameters) {
      return absl::InvalidArgumentError(absl::StrCat("expected input ", i, " to be ",
                                                     Name(x.type()), "[", parameters,
                                                     "], but it is ", TypeAndShape(parameter)));
    }
  }
  GroupNormalizationShape shape{.batch = x.dim(0),
                                .groups = groups,
                                .channels_per_group = groups == 0 ? 0 : channels / groups,
                                .parameters_per_group = parameters_per_group_};
  for (int i = 2; i < x.rank(); ++i) shape.spatial *= x.dim(i);
  return shape;
}

}  // namespace attnrun::ops
