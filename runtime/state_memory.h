// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_STATE_MEMORY_H_
#define ATTNRUN_RUNTIME_STATE_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/state.h"
#include "attnrun/tensor.h"

namespace attnrun {

// Where a state keeps a value.
enum class StateStorage : uint8_t {
  // In the tensor that a run gives.
  kPlain,
  // In memory with room for more positions, see core/room.h.
  kRoom,
  // In memory that runs overwrite, see core/journal.h.
  kJournal,
};
StateStorage StorageOf(const StateValue& value, DataType type);

// The positions that memory for a value of this shape has.
int64_t PositionsFor(const StateValue& value, const Shape& shape, int64_t capacity);

// The bytes that MakeMemory takes. kInvalidArgument if 64 bits do not count them.
absl::StatusOr<size_t> BytesFor(const StateValue& value, DataType type, const Shape& shape,
                                int64_t capacity);

// Zeros of this shape in the storage of the value. Errors as in Tensor::Allocate.
absl::StatusOr<Tensor> MakeMemory(const StateValue& value, DataType type, const Shape& shape,
                                  int64_t capacity, Allocator& allocator);

// The bytes of a tensor's memory, with that for positions to come.
size_t BytesOf(const StateValue& value, const Tensor& tensor);

// The first `length` positions along an axis, a view.
Tensor FirstPositions(const Tensor& tensor, int axis, int64_t length);

// Copies the elements of `from` to memory of the same type and shape. Not for strings.
void CopyElements(const Tensor& from, const Tensor& memory);

// Likewise the rows, along axis 0, of `from` with these numbers. Not for packed types.
void CopyRows(const Tensor& from, absl::Span<const int64_t> rows, const Tensor& memory);

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_STATE_MEMORY_H_
