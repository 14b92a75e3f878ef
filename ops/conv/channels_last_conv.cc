// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/channels_last_conv.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/interface/optional_input.h"
#include "ops/linear/activate.h"

namespace attnrun::ops {

ChannelsLastConv::ChannelsLastConv(AttributeReader& attributes)
    : attributes_(ConvAttributes::Read(attributes)),
      activation_(ReadActivation(attributes)),
      residual_first_(attributes.Int(kResidualFirst, 0) != 0) {}

absl::StatusOr<ConvShape> ChannelsLastConv::Resolve(const OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(ConvShape shape,
                           ResolveConv(attributes_, context.input(kX), context.input(kWeight),
                                       OptionalInput(context, kBias), ImageAxes::kChannelsLast));
  const Tensor* const residual = OptionalInput(context, kResidual);
  if (residual == nullptr || residual->shape() == OutputOf(shape)) return shape;
  return absl::InvalidArgumentError(absl::StrCat("expected a residual of shape ",
                                                 ToString(OutputOf(shape)), ", but found ",
                                                 TypeAndShape(*residual)));
}

Shape ChannelsLastConv::OutputOf(const ConvShape& shape) {
  Shape output = shape.output;
  std::rotate(output.begin() + 1, output.begin() + 2, output.end());
  return output;
}

}  // namespace attnrun::ops
