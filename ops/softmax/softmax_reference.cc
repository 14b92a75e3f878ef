// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "absl/functional/function_ref.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/softmax/softmax.h"

namespace attnrun::ops {
namespace {

// Applies `map` to each slice along the middle axis.
absl::Status MapSlices(OpContext& context, const SoftmaxShape& shape,
                       absl::FunctionRef<void(std::vector<double>&)> map) {
  const Tensor& x = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<double> values, ToDoubles(x));
  // An empty tensor may have a huge length.
  std::vector<double> slice(x.num_elements() == 0 ? 0 : shape.length);
  for (int64_t first = 0; first < x.num_elements(); ++first) {
    if ((first / shape.inner) % shape.length != 0) continue;
    for (int64_t i = 0; i < shape.length; ++i) slice[i] = values[first + i * shape.inner];
    map(slice);
    for (int64_t i = 0; i < shape.length; ++i) values[first + i * shape.inner] = slice[i];
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y, FromDoubles(x.type(), x.shape(), values, context.allocator()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

}  // namespace

absl::Status Softmax::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const SoftmaxShape shape, axis_.Resolve(context.input(0)));
  return MapSlices(context, shape, [this](std::vector<double>& slice) {
    const double peak = *std::max_element(slice.begin(), slice.end());
    double sum = 0;
    for (const double value : slice) sum += std::exp(value - peak);
    for (double& value : slice) {
      value = logarithm_ ? value - peak - std::log(sum) : std::exp(value - peak) / sum;
    }
  });
}

absl::Status Hardmax::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const SoftmaxShape shape, axis_.Resolve(context.input(0)));
  return MapSlices(context, shape, [](std::vector<double>& slice) {
    const auto peak = std::max_element(slice.begin(), slice.end()) - slice.begin();
    std::fill(slice.begin(), slice.end(), 0);
    slice[peak] = 1;
  });
}

}  // namespace attnrun::ops
