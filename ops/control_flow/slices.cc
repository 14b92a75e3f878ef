// SPDX-License-Identifier: Apache-2.0
#include "ops/control_flow/slices.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace attnrun::ops {

absl::StatusOr<Tensor> SliceAt(const Tensor& tensor, int axis, int64_t index,
                               Allocator& allocator) {
  if (BitWidth(tensor.type()) < 8) {
    return absl::UnimplementedError(
        absl::StrCat("slices of packed ", Name(tensor.type()), " are not supported"));
  }
  Shape shape = tensor.shape();
  Shape strides = DenseStrides(shape);
  const int64_t offset = index * strides[axis];
  shape.erase(shape.begin() + axis);
  strides.erase(strides.begin() + axis);
  return tensor.View(shape, strides, offset).Dense(allocator);
}

absl::Status Slices::Add(Tensor slice) {
  constexpr size_t kAtATime = 4096;
  // A tensor, and the block of memory that its elements are in.
  constexpr size_t kOverhead = sizeof(Tensor) + 64;
  tensors_.push_back(std::move(slice));
  if (tensors_.size() % kAtATime == 0) {
    ATTNRUN_ASSIGN_OR_RETURN(
        counted_.emplace_back(),
        Tensor::Allocate(DataType::kUint8, {kAtATime * kOverhead}, allocator_));
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> Stack(const std::vector<Tensor>& slices, int64_t axis,
                             Allocator& allocator) {
  if (slices.empty()) return Tensor::Allocate(DataType::kFloat, {0}, allocator);
  const Tensor& first = slices.front();
  for (const Tensor& slice : slices) {
    if (slice.type() == first.type() && slice.shape() == first.shape()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("scanned outputs must agree in type and shape, but found ",
                     TypeAndShape(first), " and then ", TypeAndShape(slice)));
  }
  if (first.type() == DataType::kString || BitWidth(first.type()) < 8) {
    return absl::UnimplementedError(
        absl::StrCat("scanned outputs of ", Name(first.type()), " are not supported"));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const int at, NormalizeAxis(axis, first.rank() + 1));
  Shape shape = first.shape();
  shape.insert(shape.begin() + at, static_cast<int64_t>(slices.size()));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor stacked, Tensor::Allocate(first.type(), shape, allocator));
  // The axes from `at` on stay contiguous.
  size_t block = BitWidth(first.type()) / 8;
  for (int i = at; i < first.rank(); ++i) block *= first.dim(i);
  const size_t count = block == 0 ? 0 : first.byte_size() / block;
  for (size_t i = 0; i < slices.size(); ++i) {
    // A body may return a view, such as a piece of a Split.
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor slice, slices[i].Dense(allocator));
    for (size_t j = 0; j < count; ++j) {
      std::memcpy(stacked.mutable_data<char>() + (j * slices.size() + i) * block,
                  slice.data<char>() + j * block, block);
    }
  }
  return stacked;
}

}  // namespace attnrun::ops
