// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_STRIDED_H_
#define ATTNRUN_CORE_STRIDED_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/shape.h"

namespace attnrun {

// Element strides that read a dense tensor of shape `from` as if it had shape `to`: 0 along axes
// that broadcast. kInvalidArgument unless `from` broadcasts to `to` (ONNX's unidirectional
// broadcasting).
absl::StatusOr<Shape> BroadcastStrides(absl::Span<const int64_t> from,
                                       absl::Span<const int64_t> to);

// Calls visit(offset) for every element of `shape` in row-major order. The offset is the sum of
// index times stride over all axes. Strides may be 0 (broadcast) or negative.
template <typename Visit>
void ForEachOffset(absl::Span<const int64_t> shape, absl::Span<const int64_t> strides,
                   Visit visit) {
  for (const int64_t extent : shape) {
    if (extent == 0) return;
  }
  Shape index(shape.size(), 0);
  int64_t offset = 0;
  while (true) {
    visit(offset);
    size_t axis = shape.size();
    while (axis-- > 0) {
      offset += strides[axis];
      if (++index[axis] < shape[axis]) break;
      offset -= strides[axis] * shape[axis];
      index[axis] = 0;
      if (axis == 0) return;
    }
    if (shape.empty()) return;
  }
}

// The offset of element number `index`, in row-major order, of a tensor with these extents and
// strides. Precondition: index is less than the number of elements.
inline int64_t OffsetOf(int64_t index, absl::Span<const int64_t> shape,
                        absl::Span<const int64_t> strides) {
  int64_t offset = 0;
  for (size_t axis = shape.size(); axis-- > 0; index /= shape[axis]) {
    offset += index % shape[axis] * strides[axis];
  }
  return offset;
}

}  // namespace attnrun

#endif  // ATTNRUN_CORE_STRIDED_H_
