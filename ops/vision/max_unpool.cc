// SPDX-License-Identifier: Apache-2.0
#include "ops/vision/max_unpool.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/interface/infer_rules.h"
#include "ops/tensors/element_copy.h"
#include "ops/tensors/int_input.h"

namespace attnrun::ops {
namespace {

// The place in a tensor of shape `to` of an index into a tensor of shape `from`, no larger.
int64_t Moved(int64_t index, const Shape& from, const Shape& strides) {
  int64_t place = 0;
  for (size_t axis = from.size(); axis-- > 0;) {
    place += index % from[axis] * strides[axis];
    index /= from[axis];
  }
  return place;
}

bool IsLarger(const Shape& a, const Shape& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] < b[i]) return false;
  }
  return true;
}

}  // namespace

MaxUnpool::MaxUnpool(AttributeReader& attributes) {
  window_.auto_pad = "NOTSET";
  window_.kernel_shape = attributes.Required<std::vector<int64_t>>("kernel_shape");
  window_.strides = attributes.Ints("strides");
  window_.pads = attributes.Ints("pads");
}

absl::StatusOr<Shape> MaxUnpool::ImageShape(const Tensor& x) const {
  ATTNRUN_ASSIGN_OR_RETURN(const SlidingWindow window,
                           CheckWindow(window_, x.shape(), window_.kernel_shape));
  Shape shape = {x.dim(0), x.dim(1)};
  for (size_t axis = 0; axis < window.input.size(); ++axis) {
    ATTNRUN_ASSIGN_OR_RETURN(const int64_t steps,
                             NumElements({window.input[axis], window.strides[axis]}));
    shape.push_back(steps - window.strides[axis] + window.kernel[axis] - window.pads_begin[axis] -
                    window.pads_end[axis]);
  }
  ATTNRUN_RETURN_IF_ERROR(NumElements(shape).status());
  return shape;
}

absl::Status MaxUnpool::Reference(OpContext& context) const {
  const Tensor& x = context.input(0);
  const Tensor& indices = context.input(1);
  if (indices.type() != DataType::kInt64 || indices.shape() != x.shape()) {
    return absl::InvalidArgumentError(absl::StrCat("expected indices int64", ToString(x.shape()),
                                                   ", but found ", TypeAndShape(indices)));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const Shape image, ImageShape(x));
  Shape shape = image;
  if (context.has_input(2)) {
    ATTNRUN_ASSIGN_OR_RETURN(shape, ReadInts(context.input(2), "output_shape"));
    if (!IsLarger(shape, image)) {
      return absl::InvalidArgumentError(absl::StrCat("expected an output_shape of at least ",
                                                     ToString(image), ", but found ",
                                                     ToString(shape)));
    }
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, AllocateZeros(context, 0, x.type(), shape));
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t count, NumElements(image));
  const Shape strides = DenseStrides(shape);
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const int64_t index = indices.data<int64_t>()[i];
    if (index < 0 || index >= count) {
      return absl::InvalidArgumentError(absl::StrCat("index ", index, " is outside the ", count,
                                                     " elements of ", ToString(image)));
    }
    CopyElement(x, i, *y, Moved(index, image, strides));
  }
  return absl::OkStatus();
}

void MaxUnpool::Infer(InferContext& context) const {
  SetDims(context, 0, std::nullopt);
  const std::optional<Dims>& pooled = context.input(0).dims;
  if (!pooled.has_value()) return;
  const Dims& x = *pooled;
  const size_t axes = window_.kernel_shape.size();
  if (x.size() != axes + 2) return;
  if (context.has_input(2)) return SetDims(context, 0, context.input(2).contents);
  const auto value = [](const std::vector<int64_t>& values, size_t i, int64_t otherwise) {
    return i < values.size() ? values[i] : otherwise;
  };
  Dims dims = {x[0], x[1]};
  for (size_t i = 0; i < axes; ++i) {
    const int64_t pads = value(window_.pads, i, 0) + value(window_.pads, axes + i, 0);
    dims.push_back((x[i + 2] - 1) * value(window_.strides, i, 1) + window_.kernel_shape[i] - pads);
  }
  SetDims(context, 0, std::move(dims));
}

}  // namespace attnrun::ops
