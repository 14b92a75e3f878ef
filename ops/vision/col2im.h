// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_VISION_COL2IM_H_
#define ATTNRUN_OPS_VISION_COL2IM_H_

#include <memory>

#include "ops/conv/sliding_window.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// The attributes of windows that an operator without auto_pad has.
WindowAttributes ReadUnpaddedWindow(AttributeReader& attributes);

// ONNX Col2Im-18 (x [N, C * K, L], image_shape, block_shape) -> [N, C, image_shape]: blocks of K
// elements, L of them, are added up where they lie in the image as a convolution's window does.
class Col2Im final : public Op {
 public:
  explicit Col2Im(AttributeReader& attributes) : window_(ReadUnpaddedWindow(attributes)) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override { context.Add({{0, 0}}, {{0, 0}}); }
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // A run's windows, and the shape of its output.
  struct Blocks {
    SlidingWindow window;
    int64_t taps;
    Shape shape;
  };
  absl::StatusOr<Blocks> Resolve(const OpContext& context) const;

 private:
  const WindowAttributes window_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_VISION_COL2IM_H_
