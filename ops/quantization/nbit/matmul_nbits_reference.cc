// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "core/elements.h"
#include "core/status.h"
#include "ops/interface/optional_input.h"
#include "ops/quantization/nbit/matmul_nbits.h"

namespace attnrun::ops {

absl::Status MatMulNBits::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, Resolve(context));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> a, ToDoubles(context.input(kA)));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> weight,
                           Weight([&](int i) { return InputOrUndefined(context, i); }).Columns());
  std::vector<double> bias(n_);
  if (context.has_input(kBias)) {
    ATTNRUN_ASSIGN_OR_RETURN(bias, ToDoubles(context.input(kBias)));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t count, NumElements(shape));
  std::vector<double> y(count);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t column = i % n_;
    double sum = bias[column];
    for (int64_t k = 0; k < k_; ++k) sum += a[i / n_ * k_ + k] * weight[column * k_ + k];
    y[i] = sum;
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor result,
                           FromDoubles(context.input(kA).type(), shape, y, context.allocator()));
  context.SetOutput(0, std::move(result));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
