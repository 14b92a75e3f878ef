// SPDX-License-Identifier: Apache-2.0
#include "ops/movement/strided_view.h"

#include <optional>

#include "core/room.h"
#include "core/strided.h"
#include "ops/tensors/element_copy.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

bool IsContiguous(const StridedView& view) {
  int64_t step = 1;
  for (size_t i = view.extents.size(); i-- > 0;) {
    if (view.extents[i] == 1) continue;
    if (view.strides[i] != step) return false;
    step *= view.extents[i];
  }
  return true;
}

// The view as a tensor that keeps the room of `data`, so that what is left of a sliding window
// grows in place; nullopt unless it is a range of the positions there.
std::optional<Tensor> CutOf(const Tensor& data, const StridedView& view) {
  if (CapacityOf(data) == 0 || view.extents.size() != data.shape().size() ||
      view.shape != view.extents) {
    return std::nullopt;
  }
  const Shape strides = StridesOf(data);
  int axis = -1;
  for (int i = 0; i < data.rank(); ++i) {
    if (view.shape[i] != 1 && view.strides[i] != strides[i]) return std::nullopt;
    if (view.shape[i] == data.dim(i)) continue;
    if (axis >= 0) return std::nullopt;
    axis = i;
  }
  if (axis < 0) return view.offset == 0 ? std::optional(data) : std::nullopt;
  return CutInRoom(data, axis, view.offset / strides[axis], view.shape[axis]);
}

}  // namespace

absl::Status MoveView(OpContext& context, int i, const Tensor& data, const StridedView& view) {
  if (std::optional<Tensor> cut = CutOf(data, view)) {
    context.SetOutput(i, *std::move(cut));
    return absl::OkStatus();
  }
  // Data without elements has no address for the offset.
  if (data.num_elements() > 0 && IsContiguous(view)) {
    ATTNRUN_RETURN_IF_ERROR(NumElements(view.shape).status());
    context.SetOutput(i, data.View(view.shape, DenseStrides(view.shape), view.offset));
    return absl::OkStatus();
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(i, data.type(), view.shape));
  if (y->num_elements() == 0) return absl::OkStatus();
  const int width = BitWidth(data.type()) / 8;
  CopyStrided(width, view.extents, data.data<char>() + view.offset * width, view.strides,
              y->mutable_raw(), DenseStrides(view.extents));
  return absl::OkStatus();
}

absl::Status MoveViewReference(OpContext& context, int i, const Tensor& data,
                               const StridedView& view) {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, AllocateZeros(context, i, data.type(), view.shape));
  int64_t position = 0;
  ForEachOffset(view.extents, view.strides,
                [&](int64_t offset) { CopyElement(data, view.offset + offset, *y, position++); });
  return absl::OkStatus();
}

bool MovesInputAsBytes(const OpContext& context) { return MovesAsBytes(context.input(0).type()); }

}  // namespace attnrun::ops
