// SPDX-License-Identifier: Apache-2.0
#include "attnrun/state.h"

#include <cstring>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/exceptions.h"
#include "core/quote.h"
#include "core/room.h"
#include "core/status.h"
#include "ops/tensors/strided_copy.h"
#include "state_impl.h"

namespace attnrun {
namespace {

// Strings and elements narrower than a byte cannot be addressed one by one.
bool HasRoom(const StateValue& value, DataType type) {
  return value.kind == StateKind::kAppended && type != DataType::kString && BitWidth(type) >= 8;
}

// Copies `from` to the first positions of a tensor with room.
void CopyTo(const Tensor& from, const Tensor& room) {
  if (from.num_elements() == 0) return;
  ops::CopyStrided(BitWidth(from.type()) / 8, from.shape(), from.raw(), ops::StridesOf(from),
                   const_cast<void*>(room.raw()), ops::StridesOf(room));
}

// Rows of a tensor, one behind the other.
absl::StatusOr<Tensor> SelectRows(const Tensor& tensor, absl::Span<const int64_t> rows) {
  Shape shape = tensor.shape();
  shape[0] = static_cast<int64_t>(rows.size());
  ATTNRUN_ASSIGN_OR_RETURN(Tensor selected, Tensor::Allocate(tensor.type(), shape));
  shape[0] = 1;
  const int64_t width = BitWidth(tensor.type()) / 8;
  const Shape strides = ops::StridesOf(tensor);
  const Shape dense = DenseStrides(selected.shape());
  for (size_t i = 0; i < rows.size() && selected.num_elements() > 0; ++i) {
    const auto row = static_cast<int64_t>(i);
    ops::CopyStrided(static_cast<int>(width), shape,
                     tensor.data<char>() + rows[i] * strides[0] * width, strides,
                     selected.mutable_data<char>() + row * dense[0] * width, dense);
  }
  return selected;
}

absl::StatusOr<Tensor> DeepCopy(const Tensor& tensor) {
  if (tensor.type() == DataType::kString || BitWidth(tensor.type()) < 8) return tensor.Dense();
  ATTNRUN_ASSIGN_OR_RETURN(Tensor copy, Tensor::Allocate(tensor.type(), tensor.shape()));
  CopyTo(tensor, copy);
  return copy;
}

}  // namespace

absl::StatusOr<std::unique_ptr<State::Impl>> State::Impl::Make(
    const void* session, const std::vector<StateValue>& values, const std::vector<DataType>& types,
    const std::vector<Shape>& shapes, const StateOptions& options) {
  std::unique_ptr<Impl> impl(new Impl(session, values, options));
  for (size_t i = 0; i < values.size(); ++i) {
    Tensor& tensor = impl->tensors_.emplace_back();
    if (HasRoom(values[i], types[i])) {
      ATTNRUN_ASSIGN_OR_RETURN(tensor, MakeRoom(types[i], shapes[i], values[i].axis,
                                                options.capacity, Allocator::Heap()));
      continue;
    }
    ATTNRUN_ASSIGN_OR_RETURN(tensor, Tensor::Allocate(types[i], shapes[i]));
    if (types[i] != DataType::kString) std::memset(tensor.mutable_raw(), 0, tensor.byte_size());
  }
  return impl;
}

std::unique_ptr<State::Impl> State::Impl::WithoutTensors() const {
  return std::unique_ptr<Impl>(new Impl(session_, values_, options_));
}

int64_t State::Impl::length() const {
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].kind == StateKind::kAppended) return tensors_[i].dim(values_[i].axis);
  }
  return 0;
}

size_t State::Impl::byte_size() const {
  size_t bytes = 0;
  for (size_t i = 0; i < values_.size(); ++i) {
    const Tensor& tensor = tensors_[i];
    const int64_t capacity = CapacityOf(tensor);
    if (capacity == 0) {
      bytes += tensor.byte_size();
      continue;
    }
    Shape shape = tensor.shape();
    shape[values_[i].axis] = capacity;
    bytes += NumElements(shape).value_or(0) * (BitWidth(tensor.type()) / 8);
  }
  return bytes;
}

Tensor State::Impl::value(absl::string_view input) const {
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].input == input) return tensors_[i];
  }
  return {};
}

absl::Status State::Impl::Set(absl::string_view input, const Tensor& value) {
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].input != input) continue;
    if (value.type() != tensors_[i].type() || value.rank() != tensors_[i].rank()) {
      return absl::InvalidArgumentError(absl::StrCat("input ", Quoted(input), " is carried as ",
                                                     TypeAndShape(tensors_[i]), ", but found ",
                                                     TypeAndShape(value)));
    }
    ATTNRUN_ASSIGN_OR_RETURN(tensors_[i], Owned(i, value));
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("input ", Quoted(input), " is not carried from run to run"));
}

absl::Status State::Impl::Rewind(int64_t length) {
  const bool counts = absl::c_any_of(
      values_, [](const StateValue& value) { return value.kind == StateKind::kAppended; });
  if (length < 0 || (counts && length > this->length())) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a length of 0 to ", this->length(), ", but found ", length));
  }
  for (size_t i = 0; i < values_.size() && length < this->length(); ++i) {
    const StateKind kind = values_[i].kind;
    if (kind != StateKind::kWindow && kind != StateKind::kReplaced) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the state cannot be rewound: input ", Quoted(values_[i].input), " is ",
                     kind == StateKind::kWindow ? "a " : "", Name(kind), " in each run"));
  }
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].kind == StateKind::kAppended) tensors_[i] = Shortened(i, length);
  }
  return absl::OkStatus();
}

// A tensor without room is a view of its first positions.
Tensor State::Impl::Shortened(size_t i, int64_t length) const {
  const Tensor& tensor = tensors_[i];
  if (CapacityOf(tensor) > 0) return Shrunk(tensor, length);
  Shape shape = tensor.shape();
  shape[values_[i].axis] = length;
  return tensor.View(shape, ops::StridesOf(tensor), 0);
}

absl::StatusOr<Tensor> State::Impl::Owned(size_t i, const Tensor& tensor) const {
  if (!HasRoom(values_[i], tensor.type())) {
    // Bytes without an owner are a caller's, who may change or free them.
    if (tensor.is_dense() && tensor.owner() != nullptr) return tensor;
    return DeepCopy(tensor);
  }
  const int axis = values_[i].axis;
  const int64_t length = tensor.dim(axis);
  const int64_t capacity = length > options_.capacity ? 2 * length : options_.capacity;
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor room, MakeRoom(tensor.type(), tensor.shape(), axis, capacity, Allocator::Heap()));
  CopyTo(tensor, room);
  return room;
}

absl::StatusOr<std::unique_ptr<State::Impl>> State::Impl::Clone() const {
  std::unique_ptr<Impl> clone = WithoutTensors();
  for (size_t i = 0; i < tensors_.size(); ++i) {
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor copy, DeepCopy(tensors_[i]));
    ATTNRUN_ASSIGN_OR_RETURN(clone->tensors_.emplace_back(), Owned(i, copy));
  }
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
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& tensor = tensors_[i];
    const bool has_rows = tensor.rank() > 0 && tensor.dim(0) == options_.batch;
    if (!has_rows || tensor.type() == DataType::kString || BitWidth(tensor.type()) < 8) {
      return absl::InvalidArgumentError(
          absl::StrCat("rows cannot be selected: input ", Quoted(values_[i].input), " is ",
                       TypeAndShape(tensor), ", but the batch is ", options_.batch));
    }
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor chosen, SelectRows(tensor, rows));
    ATTNRUN_ASSIGN_OR_RETURN(selected->tensors_.emplace_back(), Owned(i, chosen));
  }
  return selected;
}

TensorMap State::Impl::Inputs() const {
  TensorMap inputs;
  for (size_t i = 0; i < values_.size(); ++i) inputs[values_[i].input] = tensors_[i];
  return inputs;
}

absl::Status State::Impl::Own(std::vector<Tensor>& results) const {
  for (size_t i = 0; i < results.size(); ++i) {
    const bool grew = HasRoom(values_[i], results[i].type()) && CapacityOf(results[i]) > 0;
    if (grew) continue;
    ATTNRUN_ASSIGN_OR_RETURN(results[i], Owned(i, results[i]));
  }
  return absl::OkStatus();
}

void State::Impl::Retreat() {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (CapacityOf(tensors_[i]) == 0) continue;
    tensors_[i] = Shrunk(tensors_[i], tensors_[i].dim(values_[i].axis));
  }
}

State::State(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
State::State(State&&) noexcept = default;
State& State::operator=(State&&) noexcept = default;
State::~State() = default;

int64_t State::batch() const { return impl_->options().batch; }
int64_t State::length() const { return impl_->length(); }
size_t State::byte_size() const { return impl_->byte_size(); }
Tensor State::value(absl::string_view input) const { return impl_->value(input); }

absl::Status State::Set(absl::string_view input, const Tensor& value) {
  return WithoutExceptions([&] { return impl_->Set(input, value); });
}

absl::Status State::Rewind(int64_t length) {
  return WithoutExceptions([&] { return impl_->Rewind(length); });
}

absl::StatusOr<State> State::Clone() const {
  return WithoutExceptions([&]() -> absl::StatusOr<State> {
    ATTNRUN_ASSIGN_OR_RETURN(std::unique_ptr<Impl> clone, impl_->Clone());
    return State(std::move(clone));
  });
}

absl::StatusOr<State> State::Select(absl::Span<const int64_t> rows) const {
  return WithoutExceptions([&]() -> absl::StatusOr<State> {
    ATTNRUN_ASSIGN_OR_RETURN(std::unique_ptr<Impl> selected, impl_->Select(rows));
    return State(std::move(selected));
  });
}

}  // namespace attnrun
