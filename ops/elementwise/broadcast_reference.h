// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ELEMENTWISE_BROADCAST_REFERENCE_H_
#define ATTNRUN_OPS_ELEMENTWISE_BROADCAST_REFERENCE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "core/strided.h"
#include "ops/interface/op_context.h"

// Broadcasting for the reference operators: repeat the operands to the output's shape, then compute
// element by element.
namespace attnrun::ops {

// For each element of `to`, in row-major order: the index of the element of a dense tensor of shape
// `from` that broadcasts to it. Precondition: `from` broadcasts to `to`.
std::vector<int64_t> BroadcastIndices(const Shape& from, const Shape& to);

// `values` of shape `from`, repeated to shape `to`.
template <typename T>
std::vector<T> Broadcast(const std::vector<T>& values, const Shape& from, const Shape& to) {
  const std::vector<int64_t> indices = BroadcastIndices(from, to);
  std::vector<T> result(indices.size());
  for (size_t i = 0; i < indices.size(); ++i) result[i] = values[indices[i]];
  return result;
}

// The shape that all inputs of the node broadcast to. kInvalidArgument if there is none;
// kResourceExhausted if the context's allocator could not hold the operands repeated to it.
absl::StatusOr<Shape> BroadcastInputShapes(const OpContext& context);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ELEMENTWISE_BROADCAST_REFERENCE_H_
