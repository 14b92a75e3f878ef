// SPDX-License-Identifier: Apache-2.0
// Inference of Resize's output.
#include <cmath>
#include <utility>

#include "core/elements.h"
#include "ops/interface/axis_rules.h"
#include "ops/interface/infer_rules.h"
#include "ops/resize/resize.h"

namespace attnrun::ops {
namespace {

// The scales of an input that is the same in every run, else none.
std::vector<double> KnownScales(const KnownInputs& inputs, int input) {
  const Tensor* scales = input < 0 ? nullptr : inputs.constant(input);
  if (scales == nullptr) return {};
  return ToDoubles(*scales).value_or(std::vector<double>());
}

SymInt ScaledExtent(const SymInt& extent, double scale) {
  if (scale == 1) return extent;
  const std::optional<int64_t> number = extent.constant();
  if (!number.has_value() || !std::isfinite(scale)) return SymInt::Unknown();
  const double scaled = WholeExtent(*number, scale);
  constexpr double kMost = 0x1p53;
  return scaled >= 0 && scaled <= kMost ? SymInt(static_cast<int64_t>(scaled)) : SymInt::Unknown();
}

}  // namespace

std::optional<std::vector<size_t>> Resize::ListedAxes(size_t rank) const {
  std::vector<size_t> listed;
  for (const int64_t named : attributes_.axes) {
    const std::optional<size_t> axis = KnownAxis(named, rank);
    if (!axis.has_value()) return std::nullopt;
    listed.push_back(*axis);
  }
  for (size_t i = 0; attributes_.axes.empty() && i < rank; ++i) listed.push_back(i);
  return listed;
}

void Resize::Infer(InferContext& context) const {
  SetDims(context, 0, std::nullopt);
  if (!context.input(0).dims.has_value()) return;
  Dims dims = *context.input(0).dims;
  const std::optional<std::vector<size_t>> named = ListedAxes(dims.size());
  if (!named.has_value()) return;
  const std::vector<size_t>& listed = *named;
  std::vector<double> scales = scales_.empty() ? KnownScales(context, scales_input_) : scales_;
  Dims sizes;
  if (sizes_input_ >= 0 && context.has_input(sizes_input_)) {
    sizes = context.input(sizes_input_).contents.value_or(Dims());
  }
  const bool has_sizes = sizes.size() == listed.size() && scales.empty() &&
                         attributes_.aspect_ratio == AspectRatio::kStretch;
  const bool has_scales = scales.size() == listed.size() && sizes.empty();
  for (size_t i = 0; i < listed.size(); ++i) {
    SymInt& extent = dims[listed[i]];
    if (has_sizes) {
      extent = sizes[i];
    } else {
      extent = has_scales ? ScaledExtent(extent, scales[i]) : SymInt::Unknown();
    }
  }
  SetDims(context, 0, std::move(dims));
}

// Axes whose scale is 1 or whose size is their extent; rounding may keep others by chance.
void Resize::Axes(AxesContext& context) const {
  const size_t rank = RankOf(context, 0).value_or(0);
  const bool crops = attributes_.transformation == CoordinateTransformation::kTfCropAndResize;
  const std::optional<std::vector<size_t>> listed = ListedAxes(rank);
  if (!listed.has_value() || crops || !context.output(0).dims.has_value()) return;
  const std::vector<double> scales =
      scales_.empty() ? KnownScales(context, scales_input_) : scales_;
  const bool by_sizes = sizes_input_ >= 0 && context.has_input(sizes_input_) &&
                        attributes_.aspect_ratio == AspectRatio::kStretch;
  std::vector<bool> passes(rank, true);
  for (size_t i = 0; i < listed->size(); ++i) {
    const size_t axis = (*listed)[i];
    const bool same = (*context.input(0).dims)[axis] == (*context.output(0).dims)[axis];
    const bool by_one = scales.size() == listed->size() && scales[i] == 1;
    passes[axis] = same && (by_one || (by_sizes && scales.empty()));
  }
  AddSameAxes(context, [&](size_t axis) { return passes[axis]; });
}

}  // namespace attnrun::ops
