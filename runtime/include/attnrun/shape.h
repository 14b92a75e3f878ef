// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_SHAPE_H_
#define ATTNRUN_SHAPE_H_

#include <cstdint>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace attnrun {

// Extents of a tensor's axes, outermost first; empty for a scalar. Every extent of a Tensor is at
// least 0.
using Shape = absl::InlinedVector<int64_t, 6>;

// Product of the extents; 1 for a scalar. kInvalidArgument for a negative extent or a product
// beyond int64.
absl::StatusOr<int64_t> NumElements(absl::Span<const int64_t> shape);

// "[2,3]"; "[]" for a scalar.
std::string ToString(absl::Span<const int64_t> shape);

// Element strides of a dense row-major tensor of this shape. The extents must have passed
// NumElements.
Shape DenseStrides(absl::Span<const int64_t> shape);

// Maps an axis of [-rank, rank) to [0, rank); kInvalidArgument naming both otherwise.
absl::StatusOr<int> NormalizeAxis(int64_t axis, int rank);

// The shape two operands have after ONNX's multidirectional (NumPy) broadcasting; kInvalidArgument
// if they do not broadcast.
absl::StatusOr<Shape> BroadcastShapes(absl::Span<const int64_t> a, absl::Span<const int64_t> b);

}  // namespace attnrun

#endif  // ATTNRUN_SHAPE_H_
