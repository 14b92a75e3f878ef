// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_MOVEMENT_WINDOW_H_
#define ATTNRUN_OPS_MOVEMENT_WINDOW_H_

#include <memory>
#include <utility>

#include "core/status.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// Elements of a dense tensor seen through a box with strides of its own: the result of every
// operator that moves data without looking at it. The tensor's own strides are StridesOf(tensor).
struct Window {
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

// Sets output i to the elements of `data` that `window` shows: a view if they are dense and in
// order, else a copy. Precondition: MovesAsBytes(data.type()).
absl::Status MoveWindow(OpContext& context, int i, const Tensor& data, const Window& window);

// Likewise for any element type, but always copies, element by element.
absl::Status MoveWindowReference(OpContext& context, int i, const Tensor& data,
                                 const Window& window);

// True where input 0 is of a type that kernels move as bytes.
bool MovesInputAsBytes(const OpContext& context);

// The kernel of an operator whose one output is a window on input 0.
template <typename OpClass>
class WindowKernel final : public Kernel {
 public:
  explicit WindowKernel(OpClass op) : op_(std::move(op)) {}

  absl::string_view name() const override { return "copy"; }
  bool Accepts(const OpContext& context) const override { return MovesInputAsBytes(context); }
  bool accepts_strided() const override { return true; }
  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const Window window, op_.MakeWindow(context));
    return MoveWindow(context, 0, context.input(0), window);
  }

 private:
  const OpClass op_;
};

// Base of such operators. OpClass has a const method MakeWindow(const OpContext&) that checks all
// inputs and returns absl::StatusOr<Window>.
template <typename OpClass>
class WindowOp : public Op {
 public:
  absl::Status Reference(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const Window window, self().MakeWindow(context));
    return MoveWindowReference(context, 0, context.input(0), window);
  }
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(ConstantInputs /*constants*/) const override {
    return std::make_unique<WindowKernel<OpClass>>(self());
  }

 private:
  friend OpClass;
  WindowOp() = default;
  const OpClass& self() const { return static_cast<const OpClass&>(*this); }
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_MOVEMENT_WINDOW_H_
