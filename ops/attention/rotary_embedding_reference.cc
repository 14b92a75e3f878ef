#include "core/elements.h"
#include "core/status.h"
#include "ops/attention/rotary_embedding.h"

namespace attnrun {

absl::Status RotaryEmbedding::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const RotaryShape shape, Resolve(context));
  const Tensor& x = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<double> y, ToDoubles(x));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> cos, ToDoubles(context.input(1)));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> sin, ToDoubles(context.input(2)));
  for (int64_t row = 0; row * shape.head_size < x.num_elements(); ++row) {
    const int64_t angles = CacheOffset(context, shape, row);
    double* head = y.data() + row * shape.head_size;
    for (int64_t i = 0; i < shape.pairs; ++i) {
      double& a = interleaved_ ? head[2 * i] : head[i];
      double& b = interleaved_ ? head[2 * i + 1] : head[i + shape.pairs];
      const double real = cos[angles + i] * a - sin[angles + i] * b;
      b = sin[angles + i] * a + cos[angles + i] * b;
      a = real;
    }
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor out, FromDoubles(x.type(), x.shape(), y, context.allocator()));
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

}  // namespace attnrun
