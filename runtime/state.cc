// SPDX-License-Identifier: Apache-2.0
#include "attnrun/state.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/exceptions.h"
#include "core/journal.h"
#include "core/quote.h"
#include "core/room.h"
#include "core/status.h"
#include "state_file.h"
#include "state_impl.h"
#include "state_memory.h"

namespace attnrun {
absl::StatusOr<std::unique_ptr<State::Impl>> State::Impl::Make(
    std::shared_ptr<const StateLayout> layout, const std::vector<Shape>& shapes,
    const StateOptions& options) {
  std::unique_ptr<Impl> impl(new Impl(std::move(layout), options));
  Region region = impl->RegionFor(shapes);
  for (size_t i = 0; i < shapes.size(); ++i) {
    ATTNRUN_ASSIGN_OR_RETURN(
        impl->tensors_.emplace_back(),
        MakeMemory(impl->value(i), impl->layout_->types[i], shapes[i], options.capacity, region));
  }
  return impl;
}

absl::StatusOr<size_t> State::Impl::Bytes(const StateLayout& layout,
                                          const std::vector<Shape>& shapes,
                                          const StateOptions& options) {
  size_t sum = 0;
  for (size_t i = 0; i < shapes.size(); ++i) {
    ATTNRUN_ASSIGN_OR_RETURN(const size_t bytes, BytesFor(layout.values[i], layout.types[i],
                                                          shapes[i], options.capacity));
    if (__builtin_add_overflow(sum, bytes, &sum)) {
      return absl::InvalidArgumentError("the state has more bytes than 64 bits can count");
    }
  }
  return sum;
}

absl::StatusOr<std::unique_ptr<State::Impl>> State::Impl::Load(
    std::shared_ptr<const StateLayout> layout, const std::string& path,
    const std::vector<ValueInfo>& inputs, int64_t capacity) {
  std::unique_ptr<Impl> impl(new Impl(std::move(layout), {.batch = 0, .capacity = capacity}));
  ATTNRUN_RETURN_IF_ERROR(
      ReadStateFile(path, *impl->layout_, inputs, [&](const SavedState& saved) -> absl::Status {
        impl->options_.batch = saved.batch;
        return impl->Adopt(saved.tensors);
      }));
  return impl;
}

absl::Status State::Impl::Save(const std::string& path) const {
  return WriteStateFile(path, *layout_, options_.batch, tensors_);
}

std::unique_ptr<State::Impl> State::Impl::WithoutTensors() const {
  return std::unique_ptr<Impl>(new Impl(layout_, options_));
}

int64_t State::Impl::length() const {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (value(i).kind == StateKind::kAppended) return tensors_[i].dim(value(i).axis);
  }
  return 0;
}

size_t State::Impl::byte_size() const {
  size_t bytes = 0;
  for (size_t i = 0; i < tensors_.size(); ++i) bytes += BytesOf(value(i), tensors_[i]);
  return bytes;
}

Tensor State::Impl::value(absl::string_view input) const {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (value(i).input == input) return tensors_[i];
  }
  return {};
}

absl::Status State::Impl::Set(absl::string_view input, const Tensor& value) {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (layout_->values[i].input != input) continue;
    if (value.type() != tensors_[i].type() || value.rank() != tensors_[i].rank()) {
      return absl::InvalidArgumentError(absl::StrCat("input ", Quoted(input), " is carried as ",
                                                     TypeAndShape(tensors_[i]), ", but found ",
                                                     TypeAndShape(value)));
    }
    ATTNRUN_ASSIGN_OR_RETURN(tensors_[i], Owned(i, value, Allocator::Heap()));
    extras_[i] = {};
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("input ", Quoted(input), " is not carried from run to run"));
}

// The errors that do not depend on windows.
absl::Status State::Impl::CheckRewind(int64_t length) const {
  const auto has = [&](StateKind kind) {
    return absl::c_any_of(layout_->values,
                          [kind](const StateValue& value) { return value.kind == kind; });
  };
  const bool counts = has(StateKind::kAppended);
  const int64_t now = this->length();
  if (length < 0 || (counts && length > now)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a length of 0 to ", now, ", but found ", length));
  }
  if (!counts && (has(StateKind::kWindow) || has(StateKind::kReplaced))) {
    return absl::FailedPreconditionError(
        "the state cannot be rewound: it has no appended values, which count positions");
  }
  for (size_t i = 0; i < tensors_.size() && length < now; ++i) {
    if (value(i).kind != StateKind::kReplaced) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "the state cannot be rewound: input ", Quoted(value(i).input), " is replaced in each run"));
  }
  return absl::OkStatus();
}

absl::Status State::Impl::Rewind(int64_t length) {
  ATTNRUN_RETURN_IF_ERROR(CheckRewind(length));
  ATTNRUN_RETURN_IF_ERROR(RewindWindows(this->length(), length));
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (value(i).kind == StateKind::kAppended) tensors_[i] = Shortened(i, length);
  }
  return absl::OkStatus();
}

// All windows or none.
absl::Status State::Impl::RewindWindows(int64_t now, int64_t length) {
  if (length >= now) return absl::OkStatus();
  std::vector<Tensor> rewound = tensors_;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (value(i).kind != StateKind::kWindow) continue;
    std::optional<Tensor> earlier = EarlierWindow(i, now - length, length);
    if (earlier.has_value()) {
      rewound[i] = *std::move(earlier);
      continue;
    }
    for (size_t done = 0; done < i; ++done) {
      if (value(done).kind == StateKind::kWindow) Stay(done);
    }
    return absl::FailedPreconditionError(
        absl::StrCat("the state cannot be rewound by ", now - length, " positions: input ",
                     Quoted(value(i).input), " is a window that has lost the positions before it"));
  }
  tensors_.swap(rewound);
  return absl::OkStatus();
}

// The window `back` positions ago, when `length` positions were read.
std::optional<Tensor> State::Impl::EarlierWindow(size_t i, int64_t back, int64_t length) const {
  const int64_t fixed = layout_->extents[i];
  const int64_t window = value(i).window;
  if (CapacityOf(tensors_[i]) == 0 || (fixed == 0 && window == 0)) return std::nullopt;
  return Rewound(tensors_[i], back, fixed > 0 ? fixed : std::min(length, window));
}

// A tensor without room is a view of its first positions.
Tensor State::Impl::Shortened(size_t i, int64_t length) const {
  const Tensor& tensor = tensors_[i];
  return CapacityOf(tensor) > 0 ? Shrunk(tensor, length)
                                : FirstPositions(tensor, value(i).axis, length);
}

int64_t State::Impl::CapacityFor(size_t i, const Shape& shape) const {
  const bool outgrown =
      value(i).kind == StateKind::kAppended && shape[value(i).axis] > options_.capacity;
  return outgrown ? 2 * shape[value(i).axis] : options_.capacity;
}

Region State::Impl::RegionFor(absl::Span<const Shape> shapes) const {
  size_t sum = 0;
  for (size_t i = 0; i < shapes.size(); ++i) {
    // A value that is too large fails when its memory is made.
    sum += BytesFor(value(i), layout_->types[i], shapes[i], CapacityFor(i, shapes[i])).value_or(0);
    sum += Region::kAlignment;
  }
  return Region(sum);
}

absl::StatusOr<Tensor> State::Impl::MemoryFor(size_t i, const Shape& shape,
                                              Allocator& allocator) const {
  return MakeMemory(value(i), layout_->types[i], shape, CapacityFor(i, shape), allocator);
}

absl::StatusOr<Tensor> State::Impl::Owned(size_t i, const Tensor& tensor,
                                          Allocator& allocator) const {
  const bool is_plain = StorageOf(value(i), tensor.type()) == StateStorage::kPlain;
  // Bytes without an owner are a caller's, who may change or free them.
  if (is_plain && tensor.is_dense() && tensor.owner() != nullptr) return tensor;
  if (tensor.type() == DataType::kString) return tensor.Dense();
  ATTNRUN_ASSIGN_OR_RETURN(Tensor memory, MemoryFor(i, tensor.shape(), allocator));
  CopyElements(tensor, memory);
  return memory;
}

absl::Status State::Impl::Adopt(absl::Span<const Tensor> tensors) {
  std::vector<Shape> shapes;
  for (const Tensor& tensor : tensors) shapes.push_back(tensor.shape());
  Region region = RegionFor(shapes);
  for (size_t i = 0; i < tensors.size(); ++i) {
    ATTNRUN_ASSIGN_OR_RETURN(tensors_.emplace_back(), Owned(i, tensors[i], region));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<State::Impl>> State::Impl::Clone() const {
  std::unique_ptr<Impl> clone = WithoutTensors();
  ATTNRUN_RETURN_IF_ERROR(clone->Adopt(tensors_));
  return clone;
}

absl::StatusOr<std::unique_ptr<State::Impl>> State::Impl::Clone(int64_t length,
                                                                int64_t capacity) const {
  ATTNRUN_RETURN_IF_ERROR(CheckRewind(length));
  std::unique_ptr<Impl> clone = WithoutTensors();
  clone->options_.capacity = capacity;
  std::vector<Tensor> tensors = tensors_;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (value(i).kind == StateKind::kAppended) {
      tensors[i] = FirstPositions(tensors[i], value(i).axis, length);
    } else if (value(i).kind == StateKind::kWindow && length < this->length()) {
      return absl::FailedPreconditionError(
          absl::StrCat("the first positions cannot be cloned: input ", Quoted(value(i).input),
                       " is a window of the last ones"));
    }
  }
  ATTNRUN_RETURN_IF_ERROR(clone->Adopt(tensors));
  return clone;
}

absl::StatusOr<std::unique_ptr<State::Impl>> State::Impl::Select(
    absl::Span<const int64_t> rows) const {
  for (const int64_t row : rows) {
    if (row >= 0 && row < options_.batch) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the state has ", options_.batch, " rows, but row ", row, " is selected"));
  }
  std::unique_ptr<Impl> selected = WithoutTensors();
  selected->options_.batch = static_cast<int64_t>(rows.size());
  std::vector<Shape> shapes;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& tensor = tensors_[i];
    const bool has_rows = tensor.rank() > 0 && tensor.dim(0) == options_.batch;
    if (!has_rows || tensor.type() == DataType::kString || BitWidth(tensor.type()) < 8) {
      return absl::InvalidArgumentError(
          absl::StrCat("rows cannot be selected: input ", Quoted(value(i).input), " is ",
                       TypeAndShape(tensor), ", but the batch is ", options_.batch));
    }
    shapes.push_back(tensor.shape());
    shapes[i][0] = selected->options_.batch;
  }
  Region region = RegionFor(shapes);
  for (size_t i = 0; i < tensors_.size(); ++i) {
    ATTNRUN_ASSIGN_OR_RETURN(selected->tensors_.emplace_back(), MemoryFor(i, shapes[i], region));
    CopyRows(tensors_[i], rows, selected->tensors_.back());
  }
  return selected;
}

exec::RunBuffers& State::Impl::Lend(size_t count) {
  buffers_.inputs.assign(count, Tensor());
  for (size_t i = 0; i < tensors_.size(); ++i) {
    Tensor& input = buffers_.inputs[layout_->inputs[i]];
    if (!HasJournal(tensors_[i])) {
      input = tensors_[i];
    } else {
      if (!extras_[i].lent.defined()) extras_[i].lent = Lent(tensors_[i]);
      input = std::exchange(extras_[i].lent, Tensor());
    }
  }
  return buffers_;
}

absl::Status State::Impl::Own() {
  next_.clear();
  next_.reserve(tensors_.size());
  for (size_t i = 0; i < tensors_.size(); ++i) {
    ATTNRUN_ASSIGN_OR_RETURN(Tensor tensor, NextOf(i, buffers_.outputs[layout_->outputs[i]]));
    next_.push_back(std::move(tensor));
  }
  return absl::OkStatus();
}

// True if the result of a run is in the memory of the state.
bool State::Impl::IsInPlace(size_t i, const Tensor& result) const {
  if (HasJournal(tensors_[i])) return HasJournal(result) && result.raw() == tensors_[i].raw();
  return CapacityOf(result) > 0;
}

absl::StatusOr<Tensor> State::Impl::NextOf(size_t i, const Tensor& result) const {
  // Merged decoders give no keys of the encoder but in the run that computes them.
  if (value(i).kind == StateKind::kKept && result.num_elements() == 0) return tensors_[i];
  if (result.type() != tensors_[i].type() || result.rank() != tensors_[i].rank()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "output ", Quoted(value(i).output), " is carried to input ", Quoted(value(i).input),
        ", which is ", TypeAndShape(tensors_[i]), ", but it is ", TypeAndShape(result)));
  }
  const bool is_plain = StorageOf(value(i), result.type()) == StateStorage::kPlain;
  if (!is_plain && IsInPlace(i, result)) return result;
  // A model that never works in place would pay for a copy in each run.
  const bool tries = extras_[i].runs_elsewhere % kRunsBetweenTries == 0;
  const bool may_stay = result.is_dense() && result.owner() != nullptr && !HasJournal(result);
  if (!is_plain && may_stay && value(i).kind != StateKind::kAppended && !tries) return result;
  return Owned(i, result, Allocator::Heap());
}

void State::Impl::Advance() {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const bool is_plain = StorageOf(value(i), next_[i].type()) == StateStorage::kPlain;
    const bool in_place = is_plain || IsInPlace(i, buffers_.outputs[layout_->outputs[i]]);
    extras_[i].runs_elsewhere = in_place ? 0 : extras_[i].runs_elsewhere + 1;
    if (in_place && HasJournal(tensors_[i])) {
      Commit(tensors_[i]);
      extras_[i].lent = std::move(next_[i]);
    } else {
      tensors_[i] = std::move(next_[i]);
      if (CapacityOf(tensors_[i]) > 0) Settle(tensors_[i]);
    }
  }
  next_.clear();
  buffers_.outputs.clear();
}

void State::Impl::Stay(size_t i) {
  if (CapacityOf(tensors_[i]) > 0) {
    tensors_[i] = *Rewound(tensors_[i], 0, tensors_[i].dim(value(i).axis));
  }
}

void State::Impl::Retreat() {
  next_.clear();
  buffers_.inputs.clear();
  buffers_.outputs.clear();
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (HasJournal(tensors_[i])) RollBack(tensors_[i]);
    Stay(i);
  }
}

// While it exists, no run uses the state, unless one did before.
class State::Turn {
 public:
  explicit Turn(const State& state) : impl_(state.impl_.get()) {
    if (impl_ == nullptr) {
      status_ = absl::InvalidArgumentError("the state was moved to another one");
    } else if (!impl_->Enter()) {
      status_ = absl::FailedPreconditionError("the state is used by another run");
    }
  }
  ~Turn() {
    if (status_.ok()) impl_->Leave();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  const absl::Status& status() const { return status_; }

 private:
  Impl* const impl_;
  absl::Status status_;
};

State::State(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
State::State(State&&) noexcept = default;
State& State::operator=(State&&) noexcept = default;
State::~State() = default;

int64_t State::batch() const { return impl_ != nullptr ? impl_->options().batch : 0; }
int64_t State::length() const { return impl_ != nullptr ? impl_->length() : 0; }
size_t State::byte_size() const { return impl_ != nullptr ? impl_->byte_size() : 0; }
Tensor State::value(absl::string_view input) const {
  return impl_ != nullptr ? impl_->value(input) : Tensor();
}

absl::Status State::Set(absl::string_view input, const Tensor& value) {
  return WithoutExceptions([&] {
    const Turn turn(*this);
    return turn.status().ok() ? impl_->Set(input, value) : turn.status();
  });
}

absl::Status State::Rewind(int64_t length) {
  return WithoutExceptions([&] {
    const Turn turn(*this);
    return turn.status().ok() ? impl_->Rewind(length) : turn.status();
  });
}

absl::Status State::Save(const std::string& path) const {
  return WithoutExceptions([&] {
    const Turn turn(*this);
    return turn.status().ok() ? impl_->Save(path) : turn.status();
  });
}

absl::StatusOr<State> State::Clone() const {
  return WithoutExceptions([&]() -> absl::StatusOr<State> {
    const Turn turn(*this);
    ATTNRUN_RETURN_IF_ERROR(turn.status());
    ATTNRUN_ASSIGN_OR_RETURN(std::unique_ptr<Impl> clone, impl_->Clone());
    return State(std::move(clone));
  });
}

absl::StatusOr<State> State::Clone(int64_t length, int64_t capacity) const {
  return WithoutExceptions([&]() -> absl::StatusOr<State> {
    const Turn turn(*this);
    ATTNRUN_RETURN_IF_ERROR(turn.status());
    if (capacity < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected a capacity of at least 0, but found ", capacity));
    }
    ATTNRUN_ASSIGN_OR_RETURN(std::unique_ptr<Impl> clone, impl_->Clone(length, capacity));
    return State(std::move(clone));
  });
}

absl::StatusOr<State> State::Select(absl::Span<const int64_t> rows) const {
  return WithoutExceptions([&]() -> absl::StatusOr<State> {
    const Turn turn(*this);
    ATTNRUN_RETURN_IF_ERROR(turn.status());
    ATTNRUN_ASSIGN_OR_RETURN(std::unique_ptr<Impl> selected, impl_->Select(rows));
    return State(std::move(selected));
  });
}

}  // namespace attnrun
