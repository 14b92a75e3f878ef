#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/elements.h"
#include "core/status.h"
#include "ops/softmax/softmax.h"

namespace attnrun {

absl::Status Softmax::Reference(OpContext& context) const {
  const Tensor& x = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_, std::max(x.rank(), 1)));
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<double> values, ToDoubles(x));
  // One slice is `length` elements, `step` apart.
  int64_t step = 1;
  int64_t length = x.rank() == 0 ? 1 : x.dim(axis);
  for (int i = axis + 1; i < x.rank(); ++i) (flatten_ ? length : step) *= x.dim(i);
  const int64_t count = x.num_elements();
  for (int64_t first = 0; first < count; ++first) {
    if ((first / step) % length != 0) continue;
    double peak = values[first];
    for (int64_t i = 1; i < length; ++i) peak = std::max(peak, values[first + i * step]);
    double sum = 0;
    for (int64_t i = 0; i < length; ++i) sum += std::exp(values[first + i * step] - peak);
    for (int64_t i = 0; i < length; ++i) {
      double& value = values[first + i * step];
      value = logarithm_ ? value - peak - std::log(sum) : std::exp(value - peak) / sum;
    }
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y, FromDoubles(x.type(), x.shape(), values, context.allocator()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

}  // namespace attnrun
