// SPDX-License-Identifier: Apache-2.0
#include "core/elements.h"
#include "core/status.h"
#include "ops/attention/rotary_embedding.h"

namespace attnrun::ops {

absl::Status RotaryEmbedding::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const RotaryShape shape, Resolve(context));
  const Tensor& x = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<double> y, ToDoubles(x));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> cos, ToDoubles(context.input(1)));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> sin, ToDoubles(context.input(2)));
  for (int64_t i = 0; i < static_cast<int64_t>(shape.rows * shape.offsets.size()); ++i) {
    const auto heads = static_cast<int64_t>(shape.offsets.size());
    const int64_t row = i / heads;
    const int64_t angles = CacheOffset(context, shape, row);
    double* head = y.data() + row * shape.width + shape.offsets[i % heads];
    for (int64_t pair = 0; pair < shape.pairs; ++pair) {
      double& a = interleaved_ ? head[2 * pair] : head[pair];
      double& b = interleaved_ ? head[2 * pair + 1] : head[pair + shape.pairs];
      const double real = cos[angles + pair] * a - sin[angles + pair] * b;
      b = sin[angles + pair] * a + cos[angles + pair] * b;
      a = real;
    }
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor out, FromDoubles(x.type(), x.shape(), y, context.allocator()));
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
