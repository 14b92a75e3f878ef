// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_JOURNAL_H_
#define ATTNRUN_CORE_JOURNAL_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/tensor.h"

namespace attnrun {

// A tensor with a journal may be overwritten in place, as a static cache is in each step of a
// decoder: what an operator overwrites is saved first, so that all of it can be taken back. The
// owner of a cache keeps one tensor and lends another one of the same bytes to a run.

// The overwritten part of some bytes.
class Journal {
 public:
  virtual ~Journal() = default;

  // Saves bytes that the caller overwrites next. Not thread-safe.
  virtual void Save(int64_t offset, int64_t count) = 0;

  // The position along an axis from which on a tensor of this shape is 0 everywhere. The axis is of
  // the caller's choice. nullopt if nobody has said since the last Save; 0 before the first.
  virtual std::optional<int64_t> ZerosFrom(absl::Span<const int64_t> shape) const = 0;
  virtual void SetZerosFrom(absl::Span<const int64_t> shape, int64_t position) = 0;
  // The owner has written somewhere.
  virtual void ForgetZeros() = 0;
};

// A dense tensor of zeros with a journal. Not for strings and packed types. Errors as in
// Tensor::Allocate.
absl::StatusOr<Tensor> MakeJournaled(DataType type, const Shape& shape, Allocator& allocator);

bool HasJournal(const Tensor& tensor);

// Another tensor of the same bytes and journal. Precondition of this and the two that follow:
// HasJournal(tensor).
Tensor Lent(const Tensor& tensor);

// Takes back what was overwritten since the last Commit or RollBack.
void RollBack(const Tensor& tensor);
// Forgets it.
void Commit(const Tensor& tensor);

// The journal of a tensor that an operator may overwrite; null if it has none, or others hold
// copies of the tensor and may read the old elements.
Journal* JournalOf(const Tensor& tensor);

}  // namespace attnrun

#endif  // ATTNRUN_CORE_JOURNAL_H_
