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
// operators that join tensors ask for it with Grow. Its first positions can be cut off, too, as
// those of a sliding window: then it grows on until the memory ends, and moves to the front.

// A tensor of `shape` with room for `capacity` positions along `axis`, of which it has shape[axis].
// All of the memory is 0. Not for strings and packed types. kInvalidArgument for a shape that
// NumElements rejects; kResourceExhausted if the allocator has no memory.
absl::StatusOr<Tensor> MakeRoom(DataType type, const Shape& shape, int axis, int64_t capacity,
                                Allocator& allocator);

// The positions that a tensor's memory holds along the axis that it grows along; 0 if the tensor
// has no room.
int64_t CapacityOf(const Tensor& tensor);

struct Grown {
  // The old positions and the new ones.
  Tensor tensor;
  // The first element of the new positions, for writing. Their strides are those of `tensor`.
  void* added;
};

// `tensor` with `count` more positions along `axis`, in the same memory; nullopt if it has too
// little room there, grows along another axis, or has grown before. The elements of the new
// positions are unspecified. If several threads let one tensor grow, one succeeds. Where the memory
// ends, a tensor that was cut far enough is copied to the front, with the kHistory positions before
// it. The old tensor keeps its contents until Settle.
std::optional<Grown> Grow(const Tensor& tensor, int axis, int64_t count);

// `count` positions of a tensor, from `begin` on, which keep its room, to grow if they are the
// last; nullopt if it has no room along `axis`, and for none. Precondition: the tensor has these
// positions.
std::optional<Tensor> CutInRoom(const Tensor& tensor, int axis, int64_t begin, int64_t count);

// The `length` positions of a tensor with room that end `back` positions before its own end. They
// may begin before the tensor, where it was cut; nullopt if these are lost. Tensors that reach
// further lose their contents as soon as the result grows, so nobody may read them any more.
// Precondition: CapacityOf(tensor) > 0.
std::optional<Tensor> Rewound(const Tensor& tensor, int64_t back, int64_t length);

// Likewise the first `length` of its own positions.
Tensor Shrunk(const Tensor& tensor, int64_t length);

// Lets a tensor that Grow has moved to the front grow over the one that it was moved from.
// Precondition: CapacityOf(tensor) > 0.
void Settle(const Tensor& tensor);

// Positions that Rewound still finds after a tensor has moved to the front.
inline constexpr int64_t kHistory = 64;

}  // namespace attnrun

#endif  // ATTNRUN_CORE_ROOM_H_
