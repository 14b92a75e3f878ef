// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_VISION_MAX_UNPOOL_H_
#define ATTNRUN_OPS_VISION_MAX_UNPOOL_H_

#include "ops/conv/sliding_window.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX MaxUnpool-9, -11, -22 (x [N, C, ..], indices like x, output_shape?): zeros, with the
// elements of x at `indices`, which count over all elements of the output (N x C x (D - 1) stride -
// pads + kernel). A larger output_shape adds zeros at the end of each axis.
class MaxUnpool final : public Op {
 public:
  explicit MaxUnpool(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;

 private:
  absl::StatusOr<Shape> ImageShape(const Tensor& x) const;

  WindowAttributes window_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_VISION_MAX_UNPOOL_H_
