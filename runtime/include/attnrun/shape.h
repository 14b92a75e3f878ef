// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_SHAPE_H_
#define ATTNRUN_SHAPE_H_

#include <cstdint>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/export.h"

namespace attnrun {

// Extents of a tensor's axes, outermost first; empty for a scalar. Every extent of a Tensor is at
// least 0.
using Shape = absl::InlinedVector<int64_t, 6>;

// The product of the extents; 1 for a scalar. kInvalidArgument for a negative extent or a product
// that exceeds int64.
ATTNRUN_EXPORT absl::StatusOr<int64_t> NumElements(absl::Span<const int64_t> shape);

// "[2,3]"; "[]" for a scalar.
ATTNRUN_EXPORT std::string ToString(absl::Span<const int64_t> shape);

// Strides, in elements, of a dense row-major tensor of this shape. Precondition: NumElements(shape)
// is OK.
ATTNRUN_EXPORT Shape DenseStrides(absl::Span<const int64_t> shape);

// Maps an axis in [-rank, rank) to [0, rank). kInvalidArgument, naming axis and rank, otherwise.
ATTNRUN_EXPORT absl::StatusOr<int> NormalizeAxis(int64_t axis, int rank);

// The shape of two operands after ONNX's multidirectional (NumPy) broadcasting. kInvalidArgument if
// they do not broadcast.
ATTNRUN_EXPORT absl::StatusOr<Shape> BroadcastShapes(absl::Span<const int64_t> a,
                                                     absl::Span<const int64_t> b);

}  // namespace attnrun

#endif  // ATTNRUN_SHAPE_H_
