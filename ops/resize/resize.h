// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_RESIZE_RESIZE_H_
#define ATTNRUN_OPS_RESIZE_RESIZE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/interface/op.h"
#include "ops/interface/registry.h"

namespace attnrun::ops {

enum class Interpolation { kNearest, kLinear, kCubic };

// From an output position to a coordinate of the input; the names are ONNX's.
enum class CoordinateTransformation {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kTfHalfPixelForNn,
  kTfCropAndResize,
};

enum class NearestMode {
  kRoundPreferFloor,
  kRoundPreferCeil,
  kFloor,
  kCeil,
  // Upsample and Resize-10, whose text leaves it open: floor where the axis grows and ceil where it
  // shrinks, which is what the models of that time were exported against.
  kOutward,
};

enum class AspectRatio { kStretch, kNotLarger, kNotSmaller };

struct ResizeAttributes {
  Interpolation interpolation = Interpolation::kNearest;
  CoordinateTransformation transformation = CoordinateTransformation::kAsymmetric;
  NearestMode nearest = NearestMode::kOutward;
  AspectRatio aspect_ratio = AspectRatio::kStretch;
  double cubic_coeff_a = -0.75;
  double extrapolation_value = 0;
  bool exclude_outside = false;
  bool antialias = false;
  // Those that roi, scales and sizes speak of; empty: all.
  std::vector<int64_t> axes;
};

// One axis of the input and of the output.
struct ResizeAxis {
  int64_t input;
  int64_t output;
  // The extent of the output before it was made whole: input * scale.
  double width;
  // The region of interest, as fractions of the input.
  double start = 0;
  double end = 1;
};

// ONNX Resize-10, -11, -13, -18, -19 and Upsample-7, -9: x at other extents, each element of the
// output being the nearest element, or a sum along every axis weighted with the linear or cubic
// (Keys) filter, around its coordinate in x. Nearest takes any element type, the others take real
// numbers; integer results are rounded (halves to even) and saturate. Scales give the extent
// floor(input * scale) whatever roi says, as ONNX's own shape inference has it. exclude_outside
// does not bear on nearest, which takes the edge.
class Resize final : public Op {
 public:
  static std::unique_ptr<Op> MakeResize(AttributeReader& attributes);
  static std::unique_ptr<Op> MakeUpsample(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;

 private:
  // Every axis of x. kInvalidArgument for scales, sizes, roi and axes that do not fit x or that
  // ONNX rules out, and for axes without elements to resize from.
  absl::StatusOr<std::vector<ResizeAxis>> Resolve(const OpContext& context) const;
  // Those that scales and sizes speak of, for an input of this rank; nullopt for wrong ones.
  std::optional<std::vector<size_t>> ListedAxes(size_t rank) const;
  absl::Status ApplyScales(absl::Span<const double> scales, absl::Span<const int> listed,
                           std::vector<ResizeAxis>& axes) const;
  absl::Status ApplySizes(absl::Span<const int64_t> sizes, absl::Span<const int> listed,
                          std::vector<ResizeAxis>& axes) const;
  absl::Status ApplyRoi(const OpContext& context, absl::Span<const int> listed,
                        std::vector<ResizeAxis>& axes) const;
  // Upsample-7's attribute or the input; empty if sizes are given instead.
  absl::StatusOr<std::vector<double>> Scales(const OpContext& context) const;

  ResizeAttributes attributes_;
  // Upsample-7.
  std::vector<double> scales_;
  // Place among the inputs; -1 where the version has none.
  int roi_input_ = -1;
  int scales_input_ = -1;
  int sizes_input_ = -1;
  // Upsample's is 1; that of Resize lies above 0.
  double least_scale_ = 0;
};

// The extent that a scale makes of one, as ONNX's shape inference computes it, in single precision:
// 10 * 0.7 is 7 and not 6.
double WholeExtent(int64_t input, double scale);

// y from x, attributes and axes that agree.
absl::Status ResizeNearest(const ResizeAttributes& attributes, absl::Span<const ResizeAxis> axes,
                           OpContext& context);
absl::Status ResizeWeighted(const ResizeAttributes& attributes, absl::Span<const ResizeAxis> axes,
                            OpContext& context);

void RegisterResize(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_RESIZE_RESIZE_H_
