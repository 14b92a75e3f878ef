// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "core/elements.h"
#include "core/status.h"
#include "ops/normalization/group_normalization.h"

namespace attnrun::ops {

absl::Status GroupNormalization::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const GroupNormalizationShape shape, ResolveShape(context));
  const Tensor& x = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<double> y, ToDoubles(x));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> scale, ToDoubles(context.input(1)));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> bias, ToDoubles(context.input(2)));
  const int64_t length = shape.channels_per_group * shape.spatial;
  for (int64_t first = 0; first < x.num_elements(); first += length) {
    const int64_t group = first / length % shape.groups;
    double mean = 0;
    for (int64_t i = 0; i < length; ++i) mean += y[first + i] / length;
    double variance = 0;
    for (int64_t i = 0; i < length; ++i) variance += std::pow(y[first + i] - mean, 2) / length;
    for (int64_t i = 0; i < length; ++i) {
      const int64_t parameter = shape.Parameter(group, i / shape.spatial);
      double& value = y[first + i];
      value = scale[parameter] * (value - mean) / std::sqrt(variance + epsilon_) + bias[parameter];
    }
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor out, FromDoubles(x.type(), x.shape(), y, context.allocator()));
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
