// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_RESIZE_RESIZE_H_
#define ATTNRUN_OPS_RESIZE_RESIZE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

enum class Interpolation { kNearest, kLinear, kCubic };

// The maps from an output position to a coordinate of the input, under ONNX's names.
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
  // Upsample and Resize-10, whose text does not define rounding: floor where the axis grows, ceil
  // where it shrinks. Models of that time were exported against this.
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
  // The axes that roi, scales and sizes refer to; empty: all.
  std::vector<int64_t> axes;
};

// One axis of the input and of the output.
struct ResizeAxis {
  int64_t input;
  int64_t output;
  // The extent of the output before it was rounded: input * scale.
  double width;
  // The region of interest, as fractions of the input.
  double start = 0;
  double end = 1;
};

// ONNX Resize-10, -11, -13, -18, -19 and Upsample-7, -9: x with other extents. Each output element
// is the nearest element to its coordinate in x, or the sum of its neighbors along every axis
// weighted with the linear or cubic (Keys) filter. Nearest takes any element type, the others real
// numbers; integer results are rounded (halves to even) and saturated. Scales give the extent
// floor(input * scale) for any roi, as in ONNX's own shape inference. exclude_outside does not
// affect nearest, which takes the edge.
class Resize final : public Op {
 public:
  static std::unique_ptr<Resize> MakeResize(AttributeReader& attributes);
  static std::unique_ptr<Resize> MakeUpsample(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  const ResizeAttributes& attributes() const { return attributes_; }
  // Resolves every axis of x. kInvalidArgument for scales, sizes, roi and axes that do not fit x or
  // that ONNX forbids, and for axes without elements to resize from.
  absl::StatusOr<std::vector<ResizeAxis>> Resolve(const OpContext& context) const;

 private:
  // True if the scales count as 1.
  bool KeepsImage(absl::Span<const ResizeAxis> axes) const;
  // The axes that scales and sizes refer to, for an input of this rank; nullopt if one is invalid.
  std::optional<std::vector<size_t>> ListedAxes(size_t rank) const;
  absl::Status ApplyScales(absl::Span<const double> scales, absl::Span<const int> listed,
                           std::vector<ResizeAxis>& axes) const;
  absl::Status ApplySizes(absl::Span<const int64_t> sizes, absl::Span<const int> listed,
                          std::vector<ResizeAxis>& axes) const;
  absl::Status ApplyRoi(const OpContext& context, absl::Span<const int> listed,
                        std::vector<ResizeAxis>& axes) const;
  // Upsample-7's attribute, or the input; empty if sizes are given instead.
  absl::StatusOr<std::vector<double>> Scales(const OpContext& context) const;

  ResizeAttributes attributes_;
  // The attribute of Upsample-7.
  std::vector<double> scales_;
  // Indices of inputs; -1: the version has none.
  int roi_input_ = -1;
  int scales_input_ = -1;
  int sizes_input_ = -1;
  // The least scale of Upsample is 1; those of Resize must be above 0.
  double least_scale_ = 0;
};

// The output extent for a scale, computed in single precision as ONNX's shape inference does: 10 *
// 0.7 is 7, not 6.
double WholeExtent(int64_t input, double scale);

// Kernels: moves elements of at most 8 bytes, and weights floats and halves.
std::unique_ptr<Kernel> MakeNearestKernel(const Resize& op);
std::unique_ptr<Kernel> MakeWeightedKernel(const Resize& op);

// Computes y. Preconditions: x, attributes and axes agree.
absl::Status ResizeNearest(const ResizeAttributes& attributes, absl::Span<const ResizeAxis> axes,
                           OpContext& context);
absl::Status ResizeWeighted(const ResizeAttributes& attributes, absl::Span<const ResizeAxis> axes,
                            OpContext& context);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_RESIZE_RESIZE_H_
