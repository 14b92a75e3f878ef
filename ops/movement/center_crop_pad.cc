// SPDX-License-Identifier: Apache-2.0
#include "ops/movement/center_crop_pad.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/interface/axis_rules.h"
#include "ops/interface/infer_rules.h"
#include "ops/tensors/element_copy.h"
#include "ops/tensors/int_input.h"

namespace attnrun::ops {
namespace {

// The position along an axis of x that is read for one of y; it may be outside x.
int64_t SourceOf(int64_t position, int64_t from, int64_t to) { return position + (from - to) / 2; }

}  // namespace

absl::StatusOr<Shape> CenterCropPad::OutputShape(const OpContext& context) const {
  const Tensor& x = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const Shape extents, ReadInts(context.input(1), "shape"));
  Shape axes = axes_ ? Shape(axes_->begin(), axes_->end()) : FirstAxes(x.rank());
  ATTNRUN_RETURN_IF_ERROR(NormalizeAxes(axes, x.rank()));
  if (extents.size() != axes.size()) {
    return absl::InvalidArgumentError(absl::StrCat("expected a shape of ", axes.size(),
                                                   " extents, but found ", ToString(extents)));
  }
  Shape shape = x.shape();
  for (size_t i = 0; i < axes.size(); ++i) shape[axes[i]] = extents[i];
  return shape;
}

absl::Status CenterCropPad::Reference(OpContext& context) const {
  const Tensor& x = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, OutputShape(context));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, AllocateZeros(context, 0, x.type(), shape));
  const Shape strides = DenseStrides(x.shape());
  for (int64_t i = 0; i < y->num_elements(); ++i) {
    int64_t rest = i;
    int64_t source = 0;
    bool inside = true;
    for (int axis = x.rank(); axis-- > 0;) {
      const int64_t at = SourceOf(rest % shape[axis], x.dim(axis), shape[axis]);
      inside = inside && at >= 0 && at < x.dim(axis);
      source += at * strides[axis];
      rest /= shape[axis];
    }
    if (inside) CopyElement(x, source, *y, i);
  }
  return absl::OkStatus();
}

void CenterCropPad::Infer(InferContext& context) const {
  SetDims(context, 0, std::nullopt);
  if (!context.input(0).dims.has_value()) return;
  Dims dims = *context.input(0).dims;
  const std::optional<std::vector<SymInt>>& extents = context.input(1).contents;
  const size_t count = axes_.has_value() ? axes_->size() : dims.size();
  for (size_t i = 0; i < count; ++i) {
    const auto axis = axes_.has_value() ? KnownAxis((*axes_)[i], dims.size()) : i;
    if (!axis.has_value()) return;
    const bool known = extents.has_value() && extents->size() == count;
    dims[*axis] = known ? (*extents)[i] : SymInt::Unknown();
  }
  SetDims(context, 0, std::move(dims));
}

void CenterCropPad::Axes(AxesContext& context) const {
  const size_t rank = RankOf(context, 0).value_or(0);
  if (!axes_.has_value()) return;
  std::vector<bool> changed(rank, false);
  for (const int64_t named : *axes_) {
    const std::optional<size_t> axis = KnownAxis(named, rank);
    if (!axis.has_value()) return;
    changed[*axis] = true;
  }
  AddSameAxes(context, [&](size_t axis) { return !changed[axis]; });
}

}  // namespace attnrun::ops
