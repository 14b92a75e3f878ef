// SPDX-License-Identifier: Apache-2.0
#include "core/room.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <utility>

#include "core/status.h"
#include "core/strided.h"

namespace attnrun {
namespace {

struct Room {
  std::shared_ptr<void> memory;
  Shape strides;
  int axis = 0;
  int64_t capacity = 0;
  // The positions of the longest tensor in the room.
  std::atomic<int64_t> length = 0;
};

// The deleter of the pointer that keeps a room alive. It tells a tensor with room from others.
struct KeepRoom {
  std::shared_ptr<Room> room;
  void operator()(const void* /*memory*/) const {}
};

// Null if the tensor has no room, or is another view of its memory.
Room* RoomOf(const Tensor& tensor) {
  const auto* keep = std::get_deleter<KeepRoom>(tensor.owner());
  if (keep == nullptr || keep->room->memory.get() != tensor.raw()) return nullptr;
  const Shape strides = tensor.is_dense() ? DenseStrides(tensor.shape()) : tensor.strides();
  return strides == keep->room->strides ? keep->room.get() : nullptr;
}

Tensor WithLength(const Tensor& tensor, const Room& room, int64_t length) {
  Shape shape = tensor.shape();
  shape[room.axis] = length;
  return tensor.View(shape, room.strides, 0);
}

}  // namespace

absl::StatusOr<Tensor> MakeRoom(DataType type, const Shape& shape, int axis, int64_t capacity,
                                Allocator& allocator) {
  Shape all = shape;
  all[axis] = std::max(capacity, shape[axis]);
  ATTNRUN_ASSIGN_OR_RETURN(Tensor memory, Tensor::Allocate(type, all, allocator));
  const size_t bytes = memory.byte_size();
  std::memset(memory.mutable_raw(), 0, bytes);
  auto room = std::make_shared<Room>();
  room->strides = DenseStrides(all);
  room->axis = axis;
  room->capacity = all[axis];
  room->length = shape[axis];
  void* const data = memory.mutable_raw();
  room->memory = std::shared_ptr<void>(data, [memory = std::move(memory)](void* /*data*/) {});
  const Room& made = *room;
  const std::shared_ptr<const void> keep(data, KeepRoom{std::move(room)});
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor whole, Tensor::Borrow(type, all, data, bytes, keep));
  return WithLength(whole, made, shape[axis]);
}

int64_t CapacityOf(const Tensor& tensor) {
  const Room* room = RoomOf(tensor);
  return room != nullptr ? room->capacity : 0;
}

std::optional<Grown> Grow(const Tensor& tensor, int axis, int64_t count) {
  Room* room = RoomOf(tensor);
  if (room == nullptr || room->axis != axis || count < 0) return std::nullopt;
  int64_t length = tensor.dim(axis);
  if (count > room->capacity - length) return std::nullopt;
  if (!room->length.compare_exchange_strong(length, length + count)) return std::nullopt;
  const int64_t width = BitWidth(tensor.type()) / 8;
  auto* begin = static_cast<char*>(room->memory.get());
  return Grown{WithLength(tensor, *room, length + count),
               begin + length * room->strides[axis] * width};
}

Tensor Shrunk(const Tensor& tensor, int64_t length) {
  Room& room = *RoomOf(tensor);
  room.length = length;
  return WithLength(tensor, room, length);
}

}  // namespace attnrun
