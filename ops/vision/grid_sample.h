// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_VISION_GRID_SAMPLE_H_
#define ATTNRUN_OPS_VISION_GRID_SAMPLE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

enum class GridMode { kNearest, kLinear, kCubic };
enum class GridPadding { kZeros, kBorder, kReflection };

struct GridAttributes {
  GridMode mode;
  GridPadding padding;
  bool align_corners;
};

// ONNX GridSample-16, -20, -22 (x [N, C, D1, .., Dr], grid [N, E1, .., Er, r]) -> [N, C, E1, ..,
// Er], r from 1 to 3: each element is read at the place that the grid gives, in coordinates from -1
// to 1 of which the first is that of the last axis. They span the centers of the outermost elements
// (`align_corners`) or their outer edges.
//
// `mode`: the nearest element, halves to even; 2 per axis, linear; or 4 per axis, by Keys' cubic
// with a = -0.75. `padding_mode`: elements outside are 0, or those at the border; or places outside
// are reflected at the span's ends. A place that is not a number is outside, and has the first
// position where the padding reads elements.
class GridSample final : public Op {
 public:
  explicit GridSample(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  GridAttributes attributes_;
};

// The output's shape. kInvalidArgument if x and grid do not fit each other.
absl::StatusOr<Shape> CheckGrid(const Tensor& x, const Tensor& grid);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_VISION_GRID_SAMPLE_H_
