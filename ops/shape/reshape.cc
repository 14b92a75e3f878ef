// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/reshape.h"

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/shape/view_kernel.h"
#include "ops/tensors/int_input.h"

namespace attnrun::ops {
namespace {

absl::Status CannotReshape(const Tensor& data, absl::Span<const int64_t> wanted,
                           absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("cannot reshape ", TypeAndShape(data), " to ", ToString(wanted), ": ", why));
}

absl::Status WrongCount(const Tensor& data, absl::Span<const int64_t> wanted) {
  return CannotReshape(
      data, wanted,
      "the numbers of elements differ (a shape fixed at export fits only the sizes of the export)");
}

// The extent of the axis that is -1: the number of the data's elements divided by the other
// extents. Axes copied from the data are on both sides and cancel, so that the answer is known even
// if one of them is 0.
absl::StatusOr<int64_t> InferExtent(const Tensor& data, absl::Span<const int64_t> wanted,
                                    bool allow_zero) {
  Shape given;
  Shape available = data.shape();
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == 0 && !allow_zero) {
      available[i] = 1;
    } else if (wanted[i] != -1) {
      given.push_back(wanted[i]);
    }
  }
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t left, NumElements(available));
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t known, NumElements(given));
  if (known == 0) return CannotReshape(data, wanted, "-1 is ambiguous beside an extent of 0");
  if (left % known != 0) return WrongCount(data, wanted);
  return left / known;
}

}  // namespace

absl::StatusOr<Shape> ReshapedShape(const Tensor& data, absl::Span<const int64_t> wanted,
                                    bool allow_zero) {
  Shape shape(wanted.begin(), wanted.end());
  int inferred = -1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !allow_zero) {
      if (i >= data.shape().size()) {
        return CannotReshape(data, wanted, absl::StrCat("there is no axis ", i, " to copy for 0"));
      }
      shape[i] = data.dim(static_cast<int>(i));
    } else if (shape[i] == -1) {
      if (inferred >= 0) return CannotReshape(data, wanted, "only one extent may be -1");
      inferred = static_cast<int>(i);
    } else if (shape[i] < 0) {
      return CannotReshape(data, wanted, "an extent must be at least -1");
    }
  }
  if (inferred >= 0) {
    ATTNRUN_ASSIGN_OR_RETURN(shape[inferred], InferExtent(data, wanted, allow_zero));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t count, NumElements(shape));
  if (count != data.num_elements()) return WrongCount(data, wanted);
  return shape;
}

absl::Status Reshape::Reference(OpContext& context) const {
  const Tensor& data = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const Shape wanted, ReadInts(context.input(1), "shape"));
  ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, ReshapedShape(data, wanted, allow_zero_));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y, data.Reshaped(shape));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reshape::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<ViewKernel<Reshape>>(*this, /*strided=*/false);
}

absl::Status Flatten::Reference(OpContext& context) const {
  const Tensor& data = context.input(0);
  const int rank = data.rank();
  if (axis_ < -rank || axis_ > rank) {
    return absl::InvalidArgumentError(absl::StrCat("axis ", axis_, " is outside [", -rank, ",",
                                                   rank, "] for ", TypeAndShape(data)));
  }
  const auto split = data.shape().begin() + (axis_ < 0 ? axis_ + rank : axis_);
  Shape matrix = {1, 1};
  // No overflow: except for extents of 0, this is part of a product that Tensor has checked.
  for (auto it = data.shape().begin(); it != split; ++it) matrix[0] *= *it;
  for (auto it = split; it != data.shape().end(); ++it) matrix[1] *= *it;
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y, data.Reshaped(matrix));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Flatten::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<ViewKernel<Flatten>>(*this, /*strided=*/false);
}

}  // namespace attnrun::ops
