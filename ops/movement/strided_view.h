// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_MOVEMENT_STRIDED_VIEW_H_
#define ATTNRUN_OPS_MOVEMENT_STRIDED_VIEW_H_

#include <memory>
#include <utility>

#include "core/status.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// Elements of a tensor seen through a box with strides of its own: the result of every
// operator that moves data without looking at it. The tensor's own strides are StridesOf(tensor).
struct StridedView {
  // The shape of the result.
  Shape shape;
  // The extents of the box, in the row-major order of the result's elements, and the strides of its
  // axes in the data, in elements. Strides may be 0 or negative. The extents often are `shape`, but
  // a box may have more axes, as for blocks of pixels.
  Shape extents;
  Shape strides;
  // The offset of the first element.
  int64_t offset = 0;
};

// Sets output i to the elements of `data` that `view` shows: it shares their bytes if they are
// dense and in order, or positions of a tensor with room (core/room.h), else copies them.
// Precondition: MovesAsBytes(data.type()).
absl::Status MoveView(OpContext& context, int i, const Tensor& data, const StridedView& view);

// Likewise for any element type, but always copies, element by element.
absl::Status MoveViewReference(OpContext& context, int i, const Tensor& data,
                               const StridedView& view);

// True if input 0 is of a type that kernels move as bytes.
bool MovesInputAsBytes(const OpContext& context);

// The kernel of an operator whose one output is a view of input 0.
template <typename OpClass>
class StridedViewKernel final : public Kernel {
 public:
  explicit StridedViewKernel(OpClass op) : op_(std::move(op)) {}

  absl::string_view name() const override { return "copy"; }
  bool Accepts(const OpContext& context) const override { return MovesInputAsBytes(context); }
  bool accepts_strided() const override { return true; }
  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const StridedView view, op_.MakeView(context));
    return MoveView(context, 0, context.input(0), view);
  }

 private:
  const OpClass op_;
};

// Base of such operators. OpClass has a const method MakeView(const OpContext&) that checks all
// inputs and returns absl::StatusOr<StridedView>.
template <typename OpClass>
class StridedViewOp : public Op {
 public:
  absl::Status Reference(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const StridedView view, self().MakeView(context));
    return MoveViewReference(context, 0, context.input(0), view);
  }
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(
      const KernelContext& /*context*/) const override {
    return std::make_unique<StridedViewKernel<OpClass>>(self());
  }

 private:
  friend OpClass;
  StridedViewOp() = default;
  const OpClass& self() const { return static_cast<const OpClass&>(*this); }
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_MOVEMENT_STRIDED_VIEW_H_
