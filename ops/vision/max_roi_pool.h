// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_VISION_MAX_ROI_POOL_H_
#define ATTNRUN_OPS_VISION_MAX_ROI_POOL_H_

#include <vector>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX MaxRoiPool-1, -22 (x [N, C, H, W], rois [R, 5]) -> [R, C, pooled_shape]: the greatest
// element of each bin of each region: (image, x, y, x, y), times spatial_scale and rounded, with
// both ends. A bin without elements is 0.
class MaxRoiPool final : public Op {
 public:
  explicit MaxRoiPool(AttributeReader& attributes)
      : pooled_(attributes.Required<std::vector<int64_t>>("pooled_shape")),
        scale_(attributes.Float("spatial_scale", 1)) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;

 private:
  const std::vector<int64_t> pooled_;
  const double scale_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_VISION_MAX_ROI_POOL_H_
