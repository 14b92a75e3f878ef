// SPDX-License-Identifier: Apache-2.0
#include "ops/movement/window.h"

#include "core/strided.h"
#include "ops/tensors/element_copy.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

bool IsContiguous(const Window& window) {
  int64_t step = 1;
  for (size_t i = window.extents.size(); i-- > 0;) {
    if (window.extents[i] == 1) continue;
    if (window.strides[i] != step) return false;
    step *= window.extents[i];
  }
  return true;
}

}  // namespace

absl::Status MoveWindow(OpContext& context, int i, const Tensor& data, const Window& window) {
  // Data without elements has no address for the offset.
  if (data.num_elements() > 0 && IsContiguous(window)) {
    ATTNRUN_RETURN_IF_ERROR(NumElements(window.shape).status());
    context.SetOutput(i, data.View(window.shape, DenseStrides(window.shape), window.offset));
    return absl::OkStatus();
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(i, data.type(), window.shape));
  if (y->num_elements() == 0) return absl::OkStatus();
  const int width = BitWidth(data.type()) / 8;
  CopyStrided(width, window.extents, data.data<char>() + window.offset * width, window.strides,
              y->mutable_raw(), DenseStrides(window.extents));
  return absl::OkStatus();
}

absl::Status MoveWindowReference(OpContext& context, int i, const Tensor& data,
                                 const Window& window) {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, AllocateZeros(context, i, data.type(), window.shape));
  int64_t position = 0;
  ForEachOffset(window.extents, window.strides,
                [&](int64_t offset) { CopyElement(data, window.offset + offset, *y, position++); });
  return absl::OkStatus();
}

bool MovesInputAsBytes(const OpContext& context) { return MovesAsBytes(context.input(0).type()); }

}  // namespace attnrun::ops
