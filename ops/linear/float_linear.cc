// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/float_linear.h"

#include "absl/strings/str_cat.h"

namespace attnrun::ops {

absl::Status FloatLinear::CheckTypes(const OpContext& context) const {
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (!context.has_input(i) || IsFloatingPoint(context.input(i).type())) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("expected floats, but input ", i, " is ", TypeAndShape(context.input(i))));
  }
  return absl::OkStatus();
}

}  // namespace attnrun::ops
