// SPDX-License-Identifier: Apache-2.0
// Inference of Resize's output.
#include <cmath>
#include <utility>

#include "core/elements.h"
#include "ops/interface/infer_rules.h"
#include "ops/resize/resize.h"

namespace attnrun::ops {
namespace {

// The scales of an input that is the same in every run, else none.
std::vector<double> KnownScales(const InferContext& context, int input) {
  const Tensor* scales = input < 0 ? nullptr : context.constant(input);
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

void Resize::Infer(InferContext& context) const {
  SetDims(context, 0, std::nullopt);
  if (!context.input(0).dims.has_value()) return;
  Dims dims = *context.input(0).dims;
  std::vector<size_t> listed;
  for (const int64_t named : attributes_.axes) {
    const std::optional<size_t> axis = KnownAxis(named, dims.size());
    if (!axis.has_value()) return;
    listed.push_back(*axis);
  }
  for (size_t i = 0; attributes_.axes.empty() && i < dims.size(); ++i) listed.push_back(i);
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

}  // namespace attnrun::ops
