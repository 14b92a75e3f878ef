// SPDX-License-Identifier: Apache-2.0
#include "state_memory.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/journal.h"
#include "core/quote.h"
#include "core/room.h"
#include "core/status.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun {
namespace {

// Elements that cannot be addressed one by one.
bool IsPacked(DataType type) { return type == DataType::kString || BitWidth(type) < 8; }

// A window in memory for this many positions grows by up to 64 at once and moves to the front when
// it meets the end, which costs less than one position per step. It keeps kHistory positions for
// Rewind.
int64_t PositionsForWindow(int64_t window) {
  constexpr int64_t kMost = int64_t{1} << 60;
  return 2 * std::min(window, kMost) + 4 * kHistory;
}

// The shape of the memory.
Shape MemoryShape(const StateValue& value, DataType type, const Shape& shape, int64_t capacity) {
  Shape all = shape;
  if (StorageOf(value, type) == StateStorage::kRoom) {
    all[value.axis] = PositionsFor(value, shape, capacity);
  }
  return all;
}

}  // namespace

StateStorage StorageOf(const StateValue& value, DataType type) {
  if (IsPacked(type)) return StateStorage::kPlain;
  if (value.kind == StateKind::kWritten) return StateStorage::kJournal;
  const bool grows = value.kind == StateKind::kAppended || value.kind == StateKind::kWindow;
  return grows ? StateStorage::kRoom : StateStorage::kPlain;
}

int64_t PositionsFor(const StateValue& value, const Shape& shape, int64_t capacity) {
  const int64_t length = shape[value.axis];
  if (value.kind != StateKind::kWindow) return std::max(capacity, length);
  if (value.window >= length) return PositionsForWindow(value.window);
  return PositionsForWindow(length > 0 ? length : capacity);
}

absl::StatusOr<size_t> BytesFor(const StateValue& value, DataType type, const Shape& shape,
                                int64_t capacity) {
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t count,
                           NumElements(MemoryShape(value, type, shape, capacity)));
  const int64_t bits = type == DataType::kString ? 8 * sizeof(std::string) : BitWidth(type);
  if (count > std::numeric_limits<int64_t>::max() / bits) {
    return absl::InvalidArgumentError(absl::StrCat("the value of input ", Quoted(value.input),
                                                   " has more bytes than 64 bits can count"));
  }
  return static_cast<size_t>((count * bits + 7) / 8);
}

absl::StatusOr<Tensor> MakeMemory(const StateValue& value, DataType type, const Shape& shape,
                                  int64_t capacity, Allocator& allocator) {
  switch (StorageOf(value, type)) {
    case StateStorage::kRoom:
      return MakeRoom(type, shape, value.axis, PositionsFor(value, shape, capacity), allocator);
    case StateStorage::kJournal:
      return MakeJournaled(type, shape, allocator);
    case StateStorage::kPlain:
      break;
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(type, shape, allocator));
  if (type != DataType::kString) std::memset(tensor.mutable_raw(), 0, tensor.byte_size());
  return tensor;
}

size_t BytesOf(const StateValue& value, const Tensor& tensor) {
  const int64_t capacity = CapacityOf(tensor);
  if (capacity == 0) return tensor.byte_size();
  Shape shape = tensor.shape();
  shape[value.axis] = capacity;
  return NumElements(shape).value_or(0) * (BitWidth(tensor.type()) / 8);
}

Tensor FirstPositions(const Tensor& tensor, int axis, int64_t length) {
  Shape shape = tensor.shape();
  shape[axis] = length;
  return tensor.View(shape, ops::StridesOf(tensor), 0);
}

void CopyElements(const Tensor& from, const Tensor& memory) {
  if (from.num_elements() == 0) return;
  if (Journal* const journal = JournalOf(memory)) journal->ForgetZeros();
  auto* const to = const_cast<void*>(memory.raw());
  if (IsPacked(from.type())) {
    std::memcpy(to, from.raw(), from.byte_size());
    return;
  }
  ops::CopyStrided(BitWidth(from.type()) / 8, from.shape(), from.raw(), ops::StridesOf(from), to,
                   ops::StridesOf(memory));
}

void CopyRows(const Tensor& from, absl::Span<const int64_t> rows, const Tensor& memory) {
  if (memory.num_elements() == 0) return;
  if (Journal* const journal = JournalOf(memory)) journal->ForgetZeros();
  Shape shape = from.shape();
  shape[0] = 1;
  const int64_t width = BitWidth(from.type()) / 8;
  const Shape strides = ops::StridesOf(from);
  const Shape there = ops::StridesOf(memory);
  auto* const to = const_cast<char*>(memory.data<char>());
  for (size_t i = 0; i < rows.size(); ++i) {
    ops::CopyStrided(static_cast<int>(width), shape,
                     from.data<char>() + rows[i] * strides[0] * width, strides,
                     to + static_cast<int64_t>(i) * there[0] * width, there);
  }
}

}  // namespace attnrun
