// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_ROOM_H_
#define ATTNRUN_CORE_ROOM_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/tensor.h"

namespace attnrun {

// A tensor with room is a strided view of memory that holds more positions along one axis than the
// tensor has. It can grow without a copy, as a cache of keys does in each step of a decoder:
// operators that join tensors ask for it with Grow.

// A tensor of `shape` with room for `capacity` positions along `axis`, of which it has shape[axis].
// All of the memory is 0. Not for strings and packed types. kInvalidArgument for a shape that
// NumElements rejects; kResourceExhausted if the allocator has no memory.
absl::StatusOr<Tensor> MakeRoom(DataType type, const Shape& shape, int axis, int64_t capacity,
                                Allocator& allocator);

// The positions that a tensor's memory holds along the axis that it grows along; 0 if the tensor has
// no room.
int64_t CapacityOf(const Tensor& tensor);

struct Grown {
  // The old positions and the new ones.
  Tensor tensor;
  // The first element of the new positions, for writing. Their strides are those of `tensor`.
  void* added;
};

// `tensor` with `count` more positions along `axis`, in the same memory; nullopt if it has too little
// room there, grows along another axis, or has grown before. The elements of the new positions are
// unspecified. If several threads let one tensor grow, one succeeds.
std::optional<Grown> Grow(const Tensor& tensor, int axis, int64_t count);

// The first `length` positions of a tensor with room. Tensors that grew beyond them lose their
// contents as soon as the result grows, so nobody may read them any more.
// Precondition: CapacityOf(tensor) > 0, and 0 <= length <= the tensor's positions.
Tensor Shrunk(const Tensor& tensor, int64_t length);

}  // namespace attnrun

#endif  // ATTNRUN_CORE_ROOM_H_
