// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_VISION_ROI_ALIGN_H_
#define ATTNRUN_OPS_VISION_ROI_ALIGN_H_

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

struct RoiAttributes {
  int64_t height;
  int64_t width;
  // Samples along each axis of a bin; 0: as many as the bin has elements, rounded up.
  int64_t samples;
  double scale;
  bool maximum;
  bool half_pixel;
};

// ONNX RoiAlign-10, -16, -22 (x [N, C, H, W], rois [R, 4], batch_indices [R]) -> [R, C,
// output_height, output_width]: each region (x, y, x, y, times spatial_scale) of image
// batch_indices[r] is cut into bins, and a bin is the average of evenly spaced samples, each
// interpolated linearly. `mode` max takes the greatest weighted element of any sample, not the
// greatest sample. half_pixel shifts regions by -0.5; output_half_pixel, all that version 10 has,
// does not and makes them at least 1 wide. Samples more than 1 outside the image are 0.
class RoiAlign final : public Op {
 public:
  explicit RoiAlign(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;

 private:
  const RoiAttributes attributes_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_VISION_ROI_ALIGN_H_
