// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_TENSORS_INDICES_H_
#define ATTNRUN_OPS_TENSORS_INDICES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/tensor.h"

// Helpers for the index tensors of the gathering and scattering operators: int32 or int64, any
// rank; negative indices count from the back of an axis.
namespace attnrun::ops {

// The error "index 7 is outside [-3,2] along axis 0 of data float[3,4]".
absl::Status IndexOutside(int64_t index, int axis, const Tensor& data);

// kInvalidArgument unless `indices` is of int32 or int64.
absl::Status CheckIndexType(const Tensor& indices);

// kInvalidArgument, naming the first wrong index, unless all indices are within the axis; also
// checks their type.
absl::Status CheckIndices(const Tensor& indices, int axis, const Tensor& data);

// As CheckIndices, for indices that may be strided.
absl::Status CheckStridedIndices(const Tensor& indices, int axis, const Tensor& data);

// An index counted from the front. Precondition: it is within [-extent, extent).
inline int64_t WrapIndex(int64_t index, int64_t extent) {
  return index < 0 ? index + extent : index;
}

// For reference operators: checks the indices along one axis of `data` and returns them counted
// from the front.
absl::StatusOr<std::vector<int64_t>> ReadIndices(const Tensor& indices, int axis,
                                                 const Tensor& data);

// Calls visit(const Index*) with the indices in their C++ type. Precondition: CheckIndexType.
template <typename Visit>
auto WithIndices(const Tensor& indices, Visit visit) {
  return indices.type() == DataType::kInt64 ? visit(indices.data<int64_t>())
                                            : visit(indices.data<int32_t>());
}

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_TENSORS_INDICES_H_
