// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/transposed_parts.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/div_ceil.h"
#include "ops/conv/conv_tiling.h"

namespace attnrun::ops {
namespace {

// `alone`: every phase is an entry of its own.
std::vector<AxisPhases> PhasesAlong(const SlidingWindow& window, size_t axis, bool alone) {
  const int64_t stride = window.strides[axis];
  const int64_t dilation = window.dilations[axis];
  const int64_t common = std::gcd(stride, dilation);
  const int64_t tap_step = stride / common;
  std::vector<AxisPhases> all;
  // The first elements of all phases that have one.
  for (int64_t tap = 0; tap < std::min(window.kernel[axis], tap_step); ++tap) {
    AxisPhases phases = {.phases = {{tap * dilation % stride, tap}},
                         .taps = DivCeil(window.kernel[axis] - tap, tap_step),
                         .tap_step = tap_step,
                         .delay = tap * dilation / stride,
                         .dilation = dilation / common};
    const auto same = std::find_if(all.begin(), all.end(), [&](const AxisPhases& other) {
      return other.taps == phases.taps && other.delay == phases.delay;
    });
    if (same == all.end() || alone) {
      all.push_back(std::move(phases));
    } else {
      same->phases.push_back(phases.phases[0]);
    }
  }
  return all;
}

// Sets the window of `conv` along one axis, whose steps are those of y. Extra steps make its pads
// 0 or more, as those of any convolution.
int64_t SetWindow(const AxisPhases& phases, const SlidingWindow& transposed, size_t axis,
                  SlidingWindow& conv) {
  const int64_t stride = transposed.strides[axis];
  const int64_t pad = transposed.pads_begin[axis];
  const int64_t reach = (phases.taps - 1) * phases.dilation;
  const int64_t first = std::min(pad / stride, phases.delay + reach);
  const int64_t input = transposed.output[axis];
  const int64_t last =
      std::max((transposed.input[axis] - 1 + pad) / stride, input - 1 + phases.delay);
  conv.input.push_back(input);
  conv.kernel.push_back(phases.taps);
  conv.strides.push_back(1);
  conv.dilations.push_back(phases.dilation);
  conv.pads_begin.push_back(phases.delay + reach - first);
  conv.pads_end.push_back(last - phases.delay - (input - 1));
  conv.output.push_back(last - first + 1);
  return first;
}

int64_t Product(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

// The row-major indices in the kernel of a part's elements, in the order of the convolution, whose
// elements run backwards, for one phase of every axis.
std::vector<int64_t> KernelIndices(const TransposedPart& part, const Shape& kernel, int64_t phase) {
  std::vector<int64_t> indices = {0};
  int64_t later = part.phases();
  for (size_t axis = 0; axis < kernel.size(); ++axis) {
    const AxisPhases& a = part.axes[axis];
    later /= static_cast<int64_t>(a.phases.size());
    const int64_t first = a.phases[phase / later % a.phases.size()].first_tap;
    std::vector<int64_t> next;
    for (const int64_t index : indices) {
      for (int64_t j = a.taps; j-- > 0;) {
        next.push_back(index * kernel[axis] + first + j * a.tap_step);
      }
    }
    indices = std::move(next);
  }
  return indices;
}

}  // namespace

int64_t TransposedPart::phases() const {
  int64_t count = 1;
  for (const AxisPhases& axis : axes) count *= static_cast<int64_t>(axis.phases.size());
  return count;
}

ConvShape TransposedPart::ShapeOf(const ConvShape& transposed, Shape& first_steps) const {
  SlidingWindow window;
  first_steps.clear();
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    first_steps.push_back(SetWindow(axes[axis], transposed.window, axis, window));
  }
  ConvShape shape = transposed;
  shape.window = std::move(window);
  shape.m = transposed.m * phases();
  shape.kernel_size = Product(shape.window.kernel);
  shape.output_size = Product(shape.window.output);
  shape.output = {shape.n, shape.m};
  shape.output.insert(shape.output.end(), shape.window.output.begin(), shape.window.output.end());
  return shape;
}

std::vector<float> TransposedPart::WeightsOf(const ConvShape& transposed, const float* w) const {
  const int64_t channels = transposed.c / transposed.group;
  const int64_t features = transposed.m / transposed.group;
  const int64_t count = phases();
  const auto size = static_cast<int64_t>(KernelIndices(*this, transposed.window.kernel, 0).size());
  std::vector<float> weights(transposed.m * count * channels * size);
  for (int64_t phase = 0; phase < count; ++phase) {
    const std::vector<int64_t> indices = KernelIndices(*this, transposed.window.kernel, phase);
    for (int64_t m = 0; m < transposed.m; ++m) {
      float* to = weights.data() + (m * count + phase) * channels * size;
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t channel = m / features * channels + c;
        const float* from = w + (channel * features + m % features) * transposed.kernel_size;
        for (const int64_t index : indices) *to++ = from[index];
      }
    }
  }
  return weights;
}

std::vector<TransposedPart> PartsOf(const ConvShape& transposed) {
  constexpr int64_t kFewPhases = 8;
  const bool alone = IsDepthwise(transposed) && Product(transposed.window.strides) <= kFewPhases;
  std::vector<TransposedPart> parts = {{}};
  for (size_t axis = 0; axis < transposed.window.kernel.size(); ++axis) {
    std::vector<TransposedPart> next;
    for (const AxisPhases& phases : PhasesAlong(transposed.window, axis, alone)) {
      for (const TransposedPart& part : parts) {
        next.push_back(part);
        next.back().axes.push_back(phases);
      }
    }
    parts = std::move(next);
  }
  return parts;
}

}  // namespace attnrun::ops
