// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/status.h"
#include "ops/movement/pad.h"
#include "ops/tensors/element_copy.h"

namespace attnrun::ops {
namespace {

// The position in [0, extent) whose element stands at `position`, which is outside; -1 for the
// constant.
int64_t Outside(PadMode mode, int64_t position, int64_t extent) {
  switch (mode) {
    case PadMode::kEdge:
      return std::clamp<int64_t>(position, 0, extent - 1);
    case PadMode::kWrap: {
      const int64_t rest = position % extent;
      return rest < 0 ? rest + extent : rest;
    }
    case PadMode::kReflect: {
      if (extent == 1) return 0;
      // One period runs to the last element and back.
      const int64_t period = 2 * (extent - 1);
      int64_t rest = position % period;
      if (rest < 0) rest += period;
      return rest < extent ? rest : period - rest;
    }
    default:
      return -1;
  }
}

}  // namespace

absl::Status Pad::Reference(OpContext& context) const {
  const Tensor& data = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const Padding padding, Resolve(context));
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor value, Value(context));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, AllocateZeros(context, 0, data.type(), padding.shape));
  const Shape strides = DenseStrides(data.shape());
  for (int64_t i = 0; i < y->num_elements(); ++i) {
    int64_t rest = i;
    int64_t source = 0;
    for (int axis = data.rank(); axis-- > 0 && source >= 0;) {
      int64_t position = rest % padding.shape[axis] - padding.before[axis];
      rest /= padding.shape[axis];
      if (position < 0 || position >= data.dim(axis)) {
        position = Outside(mode_, position, data.dim(axis));
      }
      source = position < 0 ? -1 : source + position * strides[axis];
    }
    CopyElement(source < 0 ? value : data, std::max<int64_t>(source, 0), *y, i);
  }
  return absl::OkStatus();
}

}  // namespace attnrun::ops
