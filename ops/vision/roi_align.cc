// SPDX-License-Identifier: Apache-2.0
#include "ops/vision/roi_align.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/interrupt.h"
#include "core/status.h"
#include "ops/interface/infer_rules.h"
#include "ops/tensors/indices.h"

namespace attnrun::ops {
namespace {

RoiAttributes ReadAttributes(AttributeReader& attributes) {
  const bool half_pixel = attributes.version() >= 16 &&
                          attributes.OneOf("coordinate_transformation_mode", "half_pixel",
                                           {"half_pixel", "output_half_pixel"}) == "half_pixel";
  return {.height = attributes.Int("output_height", 1),
          .width = attributes.Int("output_width", 1),
          .samples = attributes.Int("sampling_ratio", 0),
          .scale = attributes.Float("spatial_scale", 1),
          .maximum = attributes.OneOf("mode", "avg", {"avg", "max"}) == "max",
          .half_pixel = half_pixel};
}

// One axis of a region.
struct RoiAxis {
  double start;
  double bin;
  int64_t samples;

  double Place(int64_t at, int64_t sample) const {
    const double within = (static_cast<double>(sample) + 0.5) / static_cast<double>(samples);
    return start + (static_cast<double>(at) + within) * bin;
  }
};

// Regions may be of any size; more samples than this would keep a run busy for minutes.
constexpr int64_t kMostSamples = int64_t{1} << 12;

absl::StatusOr<RoiAxis> CutRegion(const RoiAttributes& attributes, double begin, double end,
                                  int64_t bins) {
  const double shift = attributes.half_pixel ? 0.5 : 0;
  double size = (end - begin) * attributes.scale;
  if (!attributes.half_pixel) size = std::max(size, 1.0);
  const double bin = size / static_cast<double>(bins);
  const double samples =
      attributes.samples > 0 ? static_cast<double>(attributes.samples) : std::ceil(bin);
  if (!(samples <= kMostSamples)) {
    return absl::InvalidArgumentError(absl::StrCat("expected bins of at most ", kMostSamples,
                                                   " samples along each axis, but found ",
                                                   samples));
  }
  return RoiAxis{.start = begin * attributes.scale - shift,
                 .bin = bin,
                 .samples = static_cast<int64_t>(std::max(samples, 0.0))};
}

// The two elements next to a place and their weights; none if the place is outside.
struct Neighbors {
  bool inside;
  int64_t at[2];
  double weight[2];
};

Neighbors FindNeighbors(double place, int64_t extent) {
  const auto count = static_cast<double>(extent);
  if (!(place >= -1 && place <= count)) return {.inside = false, .at = {}, .weight = {}};
  place = std::clamp(place, 0.0, count - 1);
  const auto below = static_cast<int64_t>(place);
  const double t = place - static_cast<double>(below);
  return {.inside = true, .at = {below, std::min(below + 1, extent - 1)}, .weight = {1 - t, t}};
}

// Adds one sample of an image [height, width] to a bin.
void AddSample(const double* image, int64_t width, const Neighbors& y, const Neighbors& x,
               bool maximum, double& bin) {
  double sum = 0;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      const double term = y.weight[i] * x.weight[j] * image[y.at[i] * width + x.at[j]];
      if (maximum) bin = std::max(bin, term);
      sum += term;
    }
  }
  if (!maximum) bin += sum;
}

// The value of the bin (row, column) of a region.
double Bin(const RoiAttributes& attributes, const double* image, int64_t height, int64_t width,
           const RoiAxis& y, const RoiAxis& x, int64_t row, int64_t column) {
  double bin = attributes.maximum ? -std::numeric_limits<double>::infinity() : 0;
  const int64_t count = y.samples * x.samples;
  for (int64_t i = 0; i < count; ++i) {
    const Neighbors rows = FindNeighbors(y.Place(row, i / x.samples), height);
    const Neighbors columns = FindNeighbors(x.Place(column, i % x.samples), width);
    if (rows.inside && columns.inside) {
      AddSample(image, width, rows, columns, attributes.maximum, bin);
    } else if (attributes.maximum) {
      bin = std::max(bin, 0.0);
    }
  }
  if (count == 0) return 0;
  return attributes.maximum ? bin : bin / static_cast<double>(count);
}

absl::Status CheckInputs(const RoiAttributes& attributes, const OpContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& rois = context.input(1);
  const Tensor& batch = context.input(2);
  const bool floats = IsFloatingPoint(x.type()) && IsFloatingPoint(rois.type());
  if (!floats || x.rank() != 4 || rois.rank() != 2 || rois.dim(1) != 4 || batch.rank() != 1 ||
      batch.dim(0) != rois.dim(0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected x of floats [N,C,H,W], rois of floats [R,4] and batch_indices [R], but found ",
        TypeAndShape(x), ", ", TypeAndShape(rois), " and ", TypeAndShape(batch)));
  }
  if (attributes.height < 1 || attributes.width < 1 || x.dim(2) < 1 || x.dim(3) < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected images and regions with elements, but found x ", TypeAndShape(x),
                     " and an output of ", attributes.height, " x ", attributes.width));
  }
  return CheckIndices(batch, 0, x);
}

}  // namespace

RoiAlign::RoiAlign(AttributeReader& attributes) : attributes_(ReadAttributes(attributes)) {}

absl::Status RoiAlign::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckInputs(attributes_, context));
  const Tensor& x = context.input(0);
  const Shape shape = {context.input(1).dim(0), x.dim(1), attributes_.height, attributes_.width};
  // The memory limit applies to the output before anything else is as large.
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, x.type(), shape));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(x));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> rois, ToDoubles(context.input(1)));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> batch, ReadIndices(context.input(2), 0, x));
  std::vector<double> results;
  for (int64_t r = 0; r < shape[0]; ++r) {
    const double* roi = rois.data() + 4 * r;
    ATTNRUN_ASSIGN_OR_RETURN(const RoiAxis columns,
                             CutRegion(attributes_, roi[0], roi[2], attributes_.width));
    ATTNRUN_ASSIGN_OR_RETURN(const RoiAxis rows,
                             CutRegion(attributes_, roi[1], roi[3], attributes_.height));
    for (int64_t c = 0; c < shape[1] && !Interrupted(); ++c) {
      const double* image = values.data() + (batch[r] * shape[1] + c) * x.dim(2) * x.dim(3);
      for (int64_t i = 0; i < attributes_.height * attributes_.width; ++i) {
        results.push_back(Bin(attributes_, image, x.dim(2), x.dim(3), rows, columns,
                              i / attributes_.width, i % attributes_.width));
      }
    }
  }
  results.resize(y->num_elements());
  ATTNRUN_ASSIGN_OR_RETURN(*y, FromDoubles(x.type(), shape, results, context.allocator()));
  return absl::OkStatus();
}

void RoiAlign::Infer(InferContext& context) const {
  const auto extent = [&](int i, size_t axis) {
    const std::optional<Dims>& dims = context.input(i).dims;
    return dims.has_value() && dims->size() > axis ? (*dims)[axis] : SymInt::Unknown();
  };
  const SymInt count = Same(extent(1, 0), extent(2, 0));
  SetDims(context, 0, Dims{count, extent(0, 1), attributes_.height, attributes_.width});
}

void RoiAlign::Axes(AxesContext& context) const {
  context.Add({{1, 0}, {2, 0}}, {{0, 0}});
  context.Add({{0, 1}}, {{0, 1}});
}

}  // namespace attnrun::ops
