// SPDX-License-Identifier: Apache-2.0
#include "ops/resize/resize.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/interface/families.h"

namespace attnrun::ops {
namespace {

template <typename Enum>
using Names = std::vector<std::pair<absl::string_view, Enum>>;

// The first name is the default.
template <typename Enum>
Enum ReadEnum(AttributeReader& attributes, absl::string_view attribute, const Names<Enum>& names) {
  std::vector<absl::string_view> allowed;
  for (const auto& [name, value] : names) allowed.push_back(name);
  const std::string found = attributes.OneOf(attribute, std::string(allowed.front()), allowed);
  for (const auto& [name, value] : names) {
    if (name == found) return value;
  }
  return names.front().second;
}

Interpolation ReadInterpolation(AttributeReader& attributes, bool has_cubic) {
  Names<Interpolation> names = {{"nearest", Interpolation::kNearest},
                                {"linear", Interpolation::kLinear}};
  if (has_cubic) names.emplace_back("cubic", Interpolation::kCubic);
  return ReadEnum(attributes, "mode", names);
}

CoordinateTransformation ReadTransformation(AttributeReader& attributes) {
  using enum CoordinateTransformation;
  Names<CoordinateTransformation> names = {
      {"half_pixel", kHalfPixel},
      {"pytorch_half_pixel", kPytorchHalfPixel},
      {"align_corners", kAlignCorners},
      {"asymmetric", kAsymmetric},
      {"tf_crop_and_resize", kTfCropAndResize},
  };
  if (attributes.version() < 13) names.emplace_back("tf_half_pixel_for_nn", kTfHalfPixelForNn);
  if (attributes.version() >= 19) names.emplace_back("half_pixel_symmetric", kHalfPixelSymmetric);
  return ReadEnum(attributes, "coordinate_transformation_mode", names);
}

NearestMode ReadNearestMode(AttributeReader& attributes) {
  return ReadEnum<NearestMode>(attributes, "nearest_mode",
                               {{"round_prefer_floor", NearestMode::kRoundPreferFloor},
                                {"round_prefer_ceil", NearestMode::kRoundPreferCeil},
                                {"floor", NearestMode::kFloor},
                                {"ceil", NearestMode::kCeil}});
}

// Attributes that version 18 introduced.
void ReadAntialiasAndAxes(AttributeReader& attributes, ResizeAttributes& read) {
  read.antialias = attributes.Int("antialias", 0) != 0;
  read.axes = attributes.Ints("axes");
  read.aspect_ratio = ReadEnum<AspectRatio>(attributes, "keep_aspect_ratio_policy",
                                            {{"stretch", AspectRatio::kStretch},
                                             {"not_larger", AspectRatio::kNotLarger},
                                             {"not_smaller", AspectRatio::kNotSmaller}});
}

// The axes that scales, sizes and roi refer to, in that order.
absl::StatusOr<std::vector<int>> NormalizedAxes(absl::Span<const int64_t> axes, int rank) {
  std::vector<int> listed;
  if (axes.empty()) {
    listed.resize(rank);
    std::iota(listed.begin(), listed.end(), 0);
    return listed;
  }
  for (const int64_t axis : axes) {
    ATTNRUN_ASSIGN_OR_RETURN(const int normalized, NormalizeAxis(axis, rank));
    if (std::find(listed.begin(), listed.end(), normalized) != listed.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected every axis once, but found axis ", axis, " again"));
    }
    listed.push_back(normalized);
  }
  return listed;
}

absl::Status CheckCount(absl::string_view what, size_t found, size_t expected) {
  if (found == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("expected ", expected, " ", what, ", but found ", found));
}

bool HasElements(const OpContext& context, int input) {
  return input >= 0 && context.has_input(input) && context.input(input).num_elements() > 0;
}

// Larger extents would not be exact as doubles.
constexpr double kMostExtent = int64_t{1} << 53;

absl::Status SetExtent(double extent, double width, ResizeAxis& axis) {
  if (!(extent <= kMostExtent)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected an extent of at most 2^53, but found ", extent));
  }
  axis.output = static_cast<int64_t>(extent);
  axis.width = width;
  return absl::OkStatus();
}

}  // namespace

double WholeExtent(int64_t input, double scale) {
  if (scale == 1) return static_cast<double>(input);
  return std::floor(static_cast<float>(input) * static_cast<float>(scale));
}

std::unique_ptr<Resize> Resize::MakeResize(AttributeReader& attributes) {
  auto op = std::make_unique<Resize>();
  ResizeAttributes& read = op->attributes_;
  const int version = attributes.version();
  read.interpolation = ReadInterpolation(attributes, /*has_cubic=*/version >= 11);
  if (version < 11) {
    attributes.ExpectInputs(2, 2);
    op->scales_input_ = 1;
    return op;
  }
  op->roi_input_ = 1;
  op->scales_input_ = 2;
  op->sizes_input_ = 3;
  read.transformation = ReadTransformation(attributes);
  read.nearest = ReadNearestMode(attributes);
  read.cubic_coeff_a = attributes.Float("cubic_coeff_a", -0.75f);
  read.exclude_outside = attributes.Int("exclude_outside", 0) != 0;
  read.extrapolation_value = attributes.Float("extrapolation_value", 0);
  if (version >= 18) ReadAntialiasAndAxes(attributes, read);
  return op;
}

std::unique_ptr<Resize> Resize::MakeUpsample(AttributeReader& attributes) {
  auto op = std::make_unique<Resize>();
  op->attributes_.interpolation = ReadInterpolation(attributes, /*has_cubic=*/false);
  op->least_scale_ = 1;
  if (attributes.version() >= 9) {
    attributes.ExpectInputs(2, 2);
    op->scales_input_ = 1;
  } else {
    attributes.ExpectInputs(1, 1);
    const auto scales = attributes.Required<std::vector<float>>("scales");
    op->scales_.assign(scales.begin(), scales.end());
  }
  return op;
}

absl::StatusOr<std::vector<double>> Resize::Scales(const OpContext& context) const {
  if (!HasElements(context, scales_input_)) return scales_;
  const Tensor& scales = context.input(scales_input_);
  if (scales.type() != DataType::kFloat || scales.rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected scales of float[n], but found ", TypeAndShape(scales)));
  }
  return ToDoubles(scales);
}

absl::Status Resize::ApplyScales(absl::Span<const double> scales, absl::Span<const int> listed,
                                 std::vector<ResizeAxis>& axes) const {
  ATTNRUN_RETURN_IF_ERROR(CheckCount("scales", scales.size(), listed.size()));
  for (size_t i = 0; i < listed.size(); ++i) {
    const double scale = scales[i];
    if (!(scale > 0) || !std::isfinite(scale) || scale < least_scale_) {
      return absl::InvalidArgumentError(absl::StrCat("expected finite scales ",
                                                     least_scale_ > 0 ? "of at least 1" : "above 0",
                                                     ", but found ", scale));
    }
    ResizeAxis& axis = axes[listed[i]];
    ATTNRUN_RETURN_IF_ERROR(
        SetExtent(WholeExtent(axis.input, scale), static_cast<double>(axis.input) * scale, axis));
  }
  return absl::OkStatus();
}

absl::Status Resize::ApplySizes(absl::Span<const int64_t> sizes, absl::Span<const int> listed,
                                std::vector<ResizeAxis>& axes) const {
  ATTNRUN_RETURN_IF_ERROR(CheckCount("sizes", sizes.size(), listed.size()));
  std::vector<double> scales;
  for (size_t i = 0; i < listed.size(); ++i) {
    if (sizes[i] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected sizes of at least 0, but found ", sizes[i]));
    }
    ResizeAxis& axis = axes[listed[i]];
    const auto size = static_cast<double>(sizes[i]);
    ATTNRUN_RETURN_IF_ERROR(SetExtent(size, size, axis));
    scales.push_back(size / static_cast<double>(axis.input));
    if (attributes_.aspect_ratio != AspectRatio::kStretch && axis.input == 0) {
      return absl::InvalidArgumentError("an axis without elements has no aspect ratio to keep");
    }
  }
  if (attributes_.aspect_ratio == AspectRatio::kStretch || scales.empty()) return absl::OkStatus();
  const auto [least, most] = std::minmax_element(scales.begin(), scales.end());
  const double scale = attributes_.aspect_ratio == AspectRatio::kNotLarger ? *least : *most;
  for (const int i : listed) {
    const double width = scale * static_cast<double>(axes[i].input);
    ATTNRUN_RETURN_IF_ERROR(SetExtent(std::floor(width + 0.5), width, axes[i]));
  }
  return absl::OkStatus();
}

absl::Status Resize::ApplyRoi(const OpContext& context, absl::Span<const int> listed,
                              std::vector<ResizeAxis>& axes) const {
  if (!HasElements(context, roi_input_)) {
    return listed.empty() ? absl::OkStatus()
                          : absl::InvalidArgumentError("tf_crop_and_resize needs a roi");
  }
  const Tensor& input = context.input(roi_input_);
  if (!IsFloatingPoint(input.type()) || input.rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a roi of floats [n], but found ", TypeAndShape(input)));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> roi, ToDoubles(input));
  ATTNRUN_RETURN_IF_ERROR(CheckCount("numbers of roi", roi.size(), 2 * listed.size()));
  for (size_t i = 0; i < listed.size(); ++i) {
    ResizeAxis& axis = axes[listed[i]];
    axis.start = roi[i];
    axis.end = roi[listed.size() + i];
    if (!std::isfinite(axis.start) || !std::isfinite(axis.end)) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected a finite roi, but found [", axis.start, ", ", axis.end, "]"));
    }
  }
  return absl::OkStatus();
}

// PyTorch and ONNX Runtime copy an image whose extents do not change, whatever the scales are.
// Models have such scales: those like DINO divide an extent + 0.1 by the extent, to be safe from
// rounding. PyTorch's cubic interpolation without antialias alone obeys the scales, as ONNX says.
bool Resize::KeepsImage(absl::Span<const ResizeAxis> axes) const {
  const bool obeys = attributes_.interpolation == Interpolation::kCubic && !attributes_.antialias;
  return !obeys && attributes_.transformation != CoordinateTransformation::kTfCropAndResize &&
         std::all_of(axes.begin(), axes.end(),
                     [](const ResizeAxis& axis) { return axis.input == axis.output; });
}

absl::StatusOr<std::vector<ResizeAxis>> Resize::Resolve(const OpContext& context) const {
  const Tensor& x = context.input(0);
  std::vector<ResizeAxis> axes;
  for (const int64_t extent : x.shape()) {
    axes.push_back({.input = extent, .output = extent, .width = static_cast<double>(extent)});
  }
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int> listed,
                           NormalizedAxes(attributes_.axes, x.rank()));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> scales, Scales(context));
  if (HasElements(context, sizes_input_)) {
    if (!scales.empty()) {
      return absl::InvalidArgumentError("expected either scales or sizes, but found both");
    }
    const Tensor& sizes = context.input(sizes_input_);
    if (sizes.type() != DataType::kInt64 || sizes.rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected sizes of int64[n], but found ", TypeAndShape(sizes)));
    }
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> extents, ToInts(sizes));
    ATTNRUN_RETURN_IF_ERROR(ApplySizes(extents, listed, axes));
  } else {
    ATTNRUN_RETURN_IF_ERROR(ApplyScales(scales, listed, axes));
  }
  if (attributes_.transformation == CoordinateTransformation::kTfCropAndResize) {
    ATTNRUN_RETURN_IF_ERROR(ApplyRoi(context, listed, axes));
  }
  for (const ResizeAxis& axis : axes) {
    if (axis.input == 0 && axis.output > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot resize an axis of 0 elements to ", axis.output));
    }
  }
  if (KeepsImage(axes)) {
    for (ResizeAxis& axis : axes) axis.width = static_cast<double>(axis.output);
  }
  return axes;
}

absl::Status Resize::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<ResizeAxis> axes, Resolve(context));
  return attributes_.interpolation == Interpolation::kNearest
             ? ResizeNearest(attributes_, axes, context)
             : ResizeWeighted(attributes_, axes, context);
}

void RegisterResize(OpRegistry& registry) {
  registry.Register({"", "Resize", {10, 11, 13, 18, 19}, {1, 4}, {1, 1}, Resize::MakeResize});
  registry.Register({"", "Upsample", {7, 9, 10}, {1, 2}, {1, 1}, Resize::MakeUpsample});
}

}  // namespace attnrun::ops
