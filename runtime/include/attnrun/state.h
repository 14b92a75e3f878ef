// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_STATE_H_
#define ATTNRUN_STATE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "attnrun/export.h"
#include "attnrun/tensor.h"

namespace attnrun {

// How an output follows from the input that it becomes in the next run.
enum class StateKind : uint8_t {
  // The input with the new positions behind it: a cache of keys or values.
  kAppended,
  // The last positions of the input and the new ones: a cache with a sliding window.
  kWindow,
  // The input with some positions overwritten: a static cache.
  kWritten,
  // The input as it is, but for the run that computes it: keys and values of an encoder.
  kKept,
  // Computed anew: recurrent and convolution states.
  kReplaced,
};

// "appended", "window", "written", "kept" or "replaced".
ATTNRUN_EXPORT absl::string_view Name(StateKind kind);

// A value that a model carries from run to run.
struct StateValue {
  std::string input;
  std::string output;
  StateKind kind = StateKind::kReplaced;
  // The axis of positions; -1 for kKept, kReplaced, and if it is not known.
  int axis = -1;
  // The most positions that a kWindow holds between two runs; 0 for others, and if it is not known.
  int64_t window = 0;
};

struct StateOptions {
  // The extent of axis 0, the batch, of all values whose axis 0 has no fixed extent.
  int64_t batch = 1;
  // The positions for which memory is taken at once. A state that outgrows them takes twice as much
  // memory each time, and copies what it holds. Also the extent of static caches that have none.
  int64_t capacity = 0;
  // The extent of open axes of kept values, behind axis 0, until a run or Set gives them: the
  // number of positions of an encoder's output, which merged decoders demand of all runs.
  int64_t encoder_positions = 0;
};

// The values of a model between two runs, such as the keys and values of a decoder. Made by
// Session::NewState, changed by Session::Run. Used by one thread at a time: functions that return a
// status give kFailedPrecondition while another thread uses the state, and kInvalidArgument after
// it was moved to another one.
class ATTNRUN_EXPORT State {
 public:
  State(State&&) noexcept;
  State& operator=(State&&) noexcept;
  ~State();

  int64_t batch() const;
  // The positions that the appended values hold; 0 if there are no such values.
  int64_t length() const;
  // The bytes of memory taken.
  size_t byte_size() const;

  // The value of an input in the next run; undefined if `input` is not carried. Its bytes may
  // change in the next run.
  Tensor value(absl::string_view input) const;

  // Replaces a value, for instance by keys of an encoder that another model has computed.
  // kInvalidArgument if `input` is not carried, or has another type or rank.
  absl::Status Set(absl::string_view input, const Tensor& value);

  // Forgets the positions from `length` on; those of static caches are for the caller to mask or
  // overwrite. kFailedPrecondition if a value is replaced, or is a window that has lost the
  // positions before it: it keeps at least 64 of those that one-by-one steps have moved out of it.
  // The same without appended values, which count positions, unless all others are static or kept.
  // kInvalidArgument if the state is shorter.
  absl::Status Rewind(int64_t length);

  // A state of its own with the same values. kResourceExhausted if there is no memory.
  absl::StatusOr<State> Clone() const;
  // The same with the first `length` positions alone, and memory for `capacity`. Errors as in
  // Rewind; a state with windows can only be cloned at its whole length.
  absl::StatusOr<State> Clone(int64_t length, int64_t capacity) const;

  // A state of rows.size() rows, of which row i is row rows[i] of this one. kInvalidArgument for a
  // row that does not exist, and for values whose axis 0 is not the batch.
  absl::StatusOr<State> Select(absl::Span<const int64_t> rows) const;

  // Writes the state to a file, for Session::LoadState: the old contents of the path, or all of the
  // new, survive a crash. Reads the model's files once, to tell models apart. kUnimplemented if a
  // value has strings; other errors are those of the file system, and name the path.
  absl::Status Save(const std::string& path) const;

 private:
  friend class Session;
  friend class StateUse;
  class Impl;
  class Turn;
  explicit State(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace attnrun

#endif  // ATTNRUN_STATE_H_
