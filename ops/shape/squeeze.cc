// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/squeeze.h"

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/shape/view_kernel.h"
#include "ops/tensors/int_input.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

// The same elements, with axes of extent 1 added or removed.
absl::StatusOr<Tensor> WithAxes(const Tensor& data, const Shape& shape, const Shape& strides) {
  return data.is_dense() ? data.Reshaped(shape) : data.View(shape, strides, 0);
}

}  // namespace

AxesArgument::AxesArgument(AttributeReader& attributes, bool required)
    : from_input_(attributes.version() >= 13) {
  attributes.ExpectInputs(from_input_ && required ? 2 : 1, from_input_ ? 2 : 1);
  if (from_input_ || (!required && !attributes.Has("axes"))) return;
  const auto axes = attributes.Required<std::vector<int64_t>>("axes");
  has_attribute_ = true;
  attribute_.assign(axes.begin(), axes.end());
}

absl::StatusOr<Shape> AxesArgument::Read(const OpContext& context) const {
  if (!from_input_) return attribute_;
  return ReadInts(context.input(1), "axes");
}

absl::Status Squeeze::Reference(OpContext& context) const {
  const Tensor& data = context.input(0);
  absl::InlinedVector<bool, 8> drop(data.rank(), false);
  if (axes_.IsGiven(context)) {
    ATTNRUN_ASSIGN_OR_RETURN(const Shape axes, axes_.Read(context));
    for (const int64_t named : axes) {
      ATTNRUN_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(named, data.rank()));
      if (data.dim(axis) != 1) {
        return absl::InvalidArgumentError(absl::StrCat("cannot squeeze axis ", named, " of ",
                                                       TypeAndShape(data), ": its extent is ",
                                                       data.dim(axis), ", not 1"));
      }
      drop[axis] = true;
    }
  } else {
    for (int axis = 0; axis < data.rank(); ++axis) drop[axis] = data.dim(axis) == 1;
  }
  const Shape old_strides = StridesOf(data);
  Shape shape;
  Shape strides;
  for (int axis = 0; axis < data.rank(); ++axis) {
    if (drop[axis]) continue;
    shape.push_back(data.dim(axis));
    strides.push_back(old_strides[axis]);
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y, WithAxes(data, shape, strides));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Squeeze::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<ViewKernel<Squeeze>>(*this, /*strided=*/true);
}

absl::Status Unsqueeze::Reference(OpContext& context) const {
  const Tensor& data = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(Shape axes, axes_.Read(context));
  const int rank = data.rank() + static_cast<int>(axes.size());
  ATTNRUN_RETURN_IF_ERROR(NormalizeAxes(axes, rank));
  // -1 marks a place for an extent of the data.
  Shape shape(rank, -1);
  Shape strides(rank, 1);
  for (const int64_t axis : axes) shape[axis] = 1;
  const Shape old_strides = StridesOf(data);
  int old_axis = 0;
  for (int axis = 0; axis < rank; ++axis) {
    if (shape[axis] == 1) continue;
    shape[axis] = data.dim(old_axis);
    strides[axis] = old_strides[old_axis++];
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y, WithAxes(data, shape, strides));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Unsqueeze::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<ViewKernel<Unsqueeze>>(*this, /*strided=*/true);
}

}  // namespace attnrun::ops
