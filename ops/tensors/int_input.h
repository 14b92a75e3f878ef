// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_TENSORS_INT_INPUT_H_
#define ATTNRUN_OPS_TENSORS_INT_INPUT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attnrun/tensor.h"

// Helpers for inputs that are parameters rather than data: shapes, axes, counts. They are tiny and
// read in every run, so reading them must not allocate.
namespace attnrun::ops {

// The elements of an int64 or int32 tensor of rank 0 or 1. kInvalidArgument naming `what` for any
// other tensor, kUnimplemented for one far longer than any rank.
absl::StatusOr<Shape> ReadInts(const Tensor& tensor, absl::string_view what);

// The only element of an int64 or int32 tensor of any rank. kInvalidArgument naming `what` for any
// other tensor.
absl::StatusOr<int64_t> ReadInt(const Tensor& tensor, absl::string_view what);

// Maps `axes` to [0, rank) in place. kInvalidArgument for an axis outside [-rank, rank) or named
// twice.
absl::Status NormalizeAxes(Shape& axes, int rank);

// 0, 1, ..., count - 1.
Shape FirstAxes(int64_t count);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_TENSORS_INT_INPUT_H_
