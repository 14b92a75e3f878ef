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
  // The shape and strides of all of the memory.
  Shape shape;
  Shape strides;
  int axis = 0;
  // The end of the tensor that reaches farthest.
  std::atomic<int64_t> end = 0;
  // The first position whose contents came before those behind it, now and, after a move to the
  // front, for the tensor that moved.
  int64_t first = 0;
  int64_t first_of_moved = 0;
  // Behind it lies a tensor that was moved.
  int64_t limit = 0;

  int64_t capacity() const { return shape[axis]; }
};

// The deleter of the pointer that keeps a room alive. It tells a tensor with room from others.
struct KeepRoom {
  std::shared_ptr<Room> room;
  void operator()(const void* /*memory*/) const {}
};

// Some positions of a room.
struct Place {
  Room* room = nullptr;
  int64_t begin = 0;
  int64_t length = 0;

  int64_t end() const { return begin + length; }
};

int64_t BytesOfPosition(const Tensor& tensor, const Room& room) {
  return room.strides[room.axis] * (BitWidth(tensor.type()) / 8);
}

// True if the tensor has the room's extents and steps but along the axis. Steps do not count along
// axes of one element.
bool HasFormOf(const Tensor& tensor, const Room& room) {
  const Shape strides = tensor.is_dense() ? DenseStrides(tensor.shape()) : tensor.strides();
  for (int i = 0; i < tensor.rank(); ++i) {
    if (i != room.axis && tensor.dim(i) != room.shape[i]) return false;
    if (tensor.dim(i) != 1 && strides[i] != room.strides[i]) return false;
  }
  return true;
}

// nullopt if the tensor has no room, or is another view of its memory.
std::optional<Place> PlaceOf(const Tensor& tensor) {
  const auto* keep = std::get_deleter<KeepRoom>(tensor.owner());
  if (keep == nullptr || tensor.rank() != static_cast<int>(keep->room->shape.size())) {
    return std::nullopt;
  }
  Room* const room = keep->room.get();
  const int64_t offset = tensor.data<char>() - static_cast<const char*>(room->memory.get());
  const int64_t width = BytesOfPosition(tensor, *room);
  if (width == 0 || offset < 0 || offset % width != 0 || !HasFormOf(tensor, *room)) {
    return std::nullopt;
  }
  const Place place = {room, offset / width, tensor.dim(room->axis)};
  return place.end() <= room->capacity() ? std::optional(place) : std::nullopt;
}

// `tensor` is one of the room.
Tensor TensorAt(const Tensor& tensor, const Place& place) {
  const auto* keep = std::get_deleter<KeepRoom>(tensor.owner());
  const int64_t begin = (tensor.data<char>() - static_cast<const char*>(keep->room->memory.get())) /
                        BytesOfPosition(tensor, *place.room);
  Shape shape = place.room->shape;
  shape[place.room->axis] = place.length;
  return tensor.View(shape, place.room->strides,
                     (place.begin - begin) * place.room->strides[place.room->axis]);
}

// The elements of a room from a position on.
char* DataAt(const Tensor& tensor, const Room& room, int64_t position) {
  return static_cast<char*>(room.memory.get()) + position * BytesOfPosition(tensor, room);
}

// Copies `length` positions from `from` on to the front of the memory. They do not overlap.
void CopyToFront(const Tensor& tensor, const Room& room, int64_t from, int64_t length) {
  const int64_t width = BytesOfPosition(tensor, room);
  int64_t rows = 1;
  for (int i = 0; i < room.axis; ++i) rows *= room.shape[i];
  char* row = DataAt(tensor, room, 0);
  for (int64_t i = 0; i < rows; ++i, row += room.capacity() * width) {
    std::memcpy(row, row + from * width, length * width);
  }
}

Grown GrownAt(const Tensor& tensor, const Place& place, int64_t count) {
  return Grown{TensorAt(tensor, place), DataAt(tensor, *place.room, place.end() - count)};
}

// Where the memory ends.
std::optional<Grown> GrowAtFront(const Tensor& tensor, const Place& old, int64_t count) {
  Room& room = *old.room;
  const int64_t history = std::min(old.begin - room.first, kHistory);
  const Place moved = {&room, history, old.length + count};
  if (moved.end() > old.begin - history) return std::nullopt;
  int64_t end = old.end();
  if (!room.end.compare_exchange_strong(end, moved.end())) return std::nullopt;
  room.limit = room.first_of_moved = old.begin - history;
  room.first = 0;
  CopyToFront(tensor, room, old.begin - history, history + old.length);
  return GrownAt(tensor, moved, count);
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
  room->shape = all;
  room->strides = DenseStrides(all);
  room->axis = axis;
  room->end = shape[axis];
  room->limit = all[axis];
  void* const data = memory.mutable_raw();
  room->memory = std::shared_ptr<void>(data, [memory = std::move(memory)](void* /*data*/) {});
  Room* const made = room.get();
  const std::shared_ptr<const void> keep(data, KeepRoom{std::move(room)});
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor whole, Tensor::Borrow(type, all, data, bytes, keep));
  return TensorAt(whole, {made, 0, shape[axis]});
}

int64_t CapacityOf(const Tensor& tensor) {
  const std::optional<Place> place = PlaceOf(tensor);
  return place.has_value() ? place->room->capacity() : 0;
}

std::optional<Grown> Grow(const Tensor& tensor, int axis, int64_t count) {
  const std::optional<Place> old = PlaceOf(tensor);
  if (!old.has_value() || old->room->axis != axis || count < 0) return std::nullopt;
  int64_t end = old->end();
  if (count > old->room->limit - end) return GrowAtFront(tensor, *old, count);
  if (!old->room->end.compare_exchange_strong(end, end + count)) return std::nullopt;
  return GrownAt(tensor, {old->room, old->begin, old->length + count}, count);
}

std::optional<Tensor> CutInRoom(const Tensor& tensor, int axis, int64_t begin, int64_t count) {
  const std::optional<Place> place = PlaceOf(tensor);
  if (!place.has_value() || place->room->axis != axis || count == 0) return std::nullopt;
  return TensorAt(tensor, {place->room, place->begin + begin, count});
}

std::optional<Tensor> Rewound(const Tensor& tensor, int64_t back, int64_t length) {
  const Place place = *PlaceOf(tensor);
  Room& room = *place.room;
  const int64_t end = place.end() - back;
  // Back from a move to the front, which has overwritten what was there.
  if (room.limit < room.capacity() && place.end() > room.end) room.first = room.first_of_moved;
  if (end - length < room.first) return std::nullopt;
  room.end = end;
  room.limit = room.capacity();
  return TensorAt(tensor, {&room, end - length, length});
}

Tensor Shrunk(const Tensor& tensor, int64_t length) {
  return *Rewound(tensor, PlaceOf(tensor)->length - length, length);
}

void Settle(const Tensor& tensor) {
  Room& room = *PlaceOf(tensor)->room;
  room.limit = room.capacity();
}

}  // namespace attnrun
