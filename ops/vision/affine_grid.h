// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_VISION_AFFINE_GRID_H_
#define ATTNRUN_OPS_VISION_AFFINE_GRID_H_

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX AffineGrid-20 (theta [N, r, r + 1], size = [N, C, D1, .., Dr]) -> [N, D1, .., Dr, r], r of 2
// or 3: the places of an image's elements, in coordinates from -1 to 1 of which the first is that
// of the last axis, mapped by theta: y = theta [x; 1]. -1 and 1 are the centers of the outermost
// elements (`align_corners`) or their outer edges. With align_corners the place of an only element
// is -1.
class AffineGrid final : public Op {
 public:
  explicit AffineGrid(AttributeReader& attributes)
      : align_corners_(attributes.Int("align_corners", 0) != 0) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override { context.Add({{0, 0}}, {{0, 0}}); }

 private:
  const bool align_corners_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_VISION_AFFINE_GRID_H_
