// SPDX-License-Identifier: Apache-2.0
#include "ops/vision/grid_taps.h"

#include <algorithm>
#include <cmath>

namespace attnrun::ops {
namespace {

// Coordinates further away are outside whatever the extent; they would overflow an int32.
constexpr double kFar = 0x1p30;

// The elements along one axis that contribute to a result.
struct AxisTaps {
  int32_t positions[4];
  float weights[4];
};

class TapFinder {
 public:
  TapFinder(const GridAttributes& attributes, int64_t extent)
      : padding_(attributes.padding),
        mode_(attributes.mode),
        extent_(static_cast<int32_t>(extent)),
        scale_(static_cast<double>(extent - (attributes.align_corners ? 1 : 0)) / 2),
        shift_(static_cast<double>(extent - 1) / 2),
        edge_(attributes.align_corners ? 0 : 0.5) {}

  void Find(float normalized, AxisTaps& taps) const {
    double x = scale_ * normalized + shift_;
    if (mode_ == GridMode::kNearest) x = std::nearbyint(x);
    x = Padded(x);
    const double below = std::floor(x);
    const auto first = static_cast<int32_t>(below);
    const auto t = static_cast<float>(x - below);
    switch (mode_) {
      case GridMode::kNearest:
        taps.positions[0] = Inside(first);
        taps.weights[0] = 1;
        break;
      case GridMode::kLinear:
        taps.positions[0] = Inside(first);
        taps.positions[1] = Inside(first + 1);
        taps.weights[0] = static_cast<float>(1 - (x - below));
        taps.weights[1] = t;
        break;
      case GridMode::kCubic:
        for (int32_t i = 0; i < 4; ++i) taps.positions[i] = Inside(first - 1 + i);
        SetCubicWeights(t, taps.weights);
        break;
    }
  }

 private:
  static void SetCubicWeights(float t, float* weights) {
    constexpr float kA = -0.75F;
    // Keys' filter at the distances s and 1 + s from its center.
    const auto near = [](float s) { return ((kA + 2) * s - (kA + 3)) * s * s + 1; };
    const auto far = [](float s) { return kA * s * (s - 1) * (s - 1); };
    weights[0] = far(t);
    weights[1] = near(t);
    weights[2] = near(1 - t);
    weights[3] = far(1 - t);
  }

  double Padded(double x) const {
    const double last = extent_ - 1;
    if (x >= -edge_ && x <= last + edge_) return x;
    if (padding_ == GridPadding::kZeros) return std::fabs(x) < kFar ? x : kFar;
    if (padding_ == GridPadding::kBorder) return x > 0 ? last : 0;
    const double span = last + 2 * edge_;
    if (!std::isfinite(x) || span == 0) return 0;
    double folded = x + edge_;
    folded -= std::floor(folded / (2 * span)) * (2 * span);
    return std::clamp(std::min(folded, 2 * span - folded) - edge_, -edge_, last + edge_);
  }

  int32_t Inside(int32_t position) const {
    if (position >= 0 && position < extent_) return position;
    if (padding_ == GridPadding::kZeros) return -1;
    if (padding_ == GridPadding::kBorder) return position < 0 ? 0 : extent_ - 1;
    // The mirror is between elements (edge_ 0.5) or in one.
    const int64_t gap = edge_ == 0 ? 0 : 1;
    const int64_t period = 2 * (extent_ - 1 + gap);
    if (period == 0) return 0;
    const int64_t folded = (position % period + period) % period;
    return static_cast<int32_t>(folded < extent_ ? folded : period - gap - folded);
  }

  const GridPadding padding_;
  const GridMode mode_;
  const int32_t extent_;
  const double scale_;
  const double shift_;
  // The distance of the span's ends from the outermost elements.
  const double edge_;
};

size_t TapsPerAxis(GridMode mode) {
  return mode == GridMode::kNearest ? 1 : mode == GridMode::kLinear ? 2 : 4;
}

// The elements along one axis that contribute to the results of a block, as in GridTaps.
struct BlockTaps {
  int32_t positions[4][kGridBlock];
  float weights[4][kGridBlock];
};

// to = the taps `from` of some axes, each with the tap `along` of the next one, of this extent.
void Combine(const int32_t* from, const float* from_weights, const int32_t* along,
             const float* along_weights, int32_t extent, int32_t* to, float* to_weights) {
  for (size_t i = 0; i < kGridBlock; ++i) {
    // The sign bit of either says that it is outside.
    const int32_t position = from[i] * extent + along[i];
    to[i] = (from[i] | along[i]) < 0 ? -1 : position;
    to_weights[i] = from_weights[i] * along_weights[i];
  }
}

}  // namespace

void FindGridTaps(const GridAttributes& attributes, absl::Span<const int64_t> extents,
                  const float* grid, size_t places, GridTaps& taps) {
  const size_t per_axis = TapsPerAxis(attributes.mode);
  const size_t axes = extents.size();
  taps.places = places;
  taps.count = 1;
  std::fill_n(taps.positions[0], kGridBlock, 0);
  std::fill_n(taps.weights[0], kGridBlock, 1.0F);
  BlockTaps block = {};
  for (size_t tap = 0; tap < per_axis; ++tap) std::fill_n(block.positions[tap], kGridBlock, -1);
  for (size_t axis = 0; axis < axes; ++axis) {
    const TapFinder finder(attributes, extents[axis]);
    for (size_t i = 0; i < places; ++i) {
      AxisTaps found;
      finder.Find(grid[i * axes + axes - 1 - axis], found);
      for (size_t tap = 0; tap < per_axis; ++tap) {
        block.positions[tap][i] = found.positions[tap];
        block.weights[tap][i] = found.weights[tap];
      }
    }
    // The last group first, because group 0 becomes the first groups, and its first tap last.
    for (size_t i = taps.count * per_axis; i-- > 0;) {
      const size_t group = i / per_axis;
      const size_t tap = i % per_axis;
      Combine(taps.positions[group], taps.weights[group], block.positions[tap], block.weights[tap],
              static_cast<int32_t>(extents[axis]), taps.positions[i], taps.weights[i]);
    }
    taps.count *= per_axis;
  }
}

}  // namespace attnrun::ops
