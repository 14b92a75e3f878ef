// SPDX-License-Identifier: Apache-2.0
#include "ops/resize/resize_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace attnrun::ops {
namespace {

// The coordinates in the input of output positions, origin + (position + shift) * numerator /
// denominator. The quotient is rounded once, so that halves that nearest_mode decides stay halves.
class Coordinates {
 public:
  Coordinates(CoordinateTransformation mode, const ResizeAxis& axis) {
    const auto input = static_cast<double>(axis.input);
    crops_ = mode == CoordinateTransformation::kTfCropAndResize;
    last_ = input - 1;
    if (!crops_ && axis.output == axis.input && axis.width == input) return;
    numerator_ = input;
    denominator_ = axis.width;
    Set(mode, axis);
  }

  double operator()(int64_t position) const {
    const double at = (static_cast<double>(position) + shift_) * region_ * numerator_;
    return origin_ + at / denominator_ + end_;
  }

  // True if the output is extrapolation_value there, as it also is if a huge region of interest
  // makes the coordinate NaN.
  bool IsOutside(double coordinate) const {
    return crops_ && !(coordinate >= 0 && coordinate <= last_);
  }

 private:
  void Set(CoordinateTransformation mode, const ResizeAxis& axis) {
    const double input = numerator_;
    switch (mode) {
      case CoordinateTransformation::kHalfPixel:
        return SetHalfPixel();
      case CoordinateTransformation::kHalfPixelSymmetric:
        origin_ = input / 2 * (1 - static_cast<double>(axis.output) / axis.width);
        shift_ = 0.5;
        end_ = -0.5;
        return;
      case CoordinateTransformation::kPytorchHalfPixel:
        return axis.output > 1 ? SetHalfPixel() : SetConstant(0);
      case CoordinateTransformation::kTfHalfPixelForNn:
        shift_ = 0.5;
        return;
      case CoordinateTransformation::kAlignCorners:
        if (axis.output == 1) return SetConstant(0);
        numerator_ = last_;
        denominator_ = axis.width - 1;
        return;
      case CoordinateTransformation::kAsymmetric:
        return;
      case CoordinateTransformation::kTfCropAndResize:
        if (axis.output == 1) return SetConstant(0.5 * (axis.start + axis.end) * last_);
        region_ = axis.end - axis.start;
        numerator_ = last_;
        denominator_ = axis.width - 1;
        origin_ = axis.start * last_;
        return;
    }
  }

  void SetHalfPixel() {
    shift_ = 0.5;
    end_ = -0.5;
  }
  void SetConstant(double coordinate) {
    numerator_ = 0;
    denominator_ = 1;
    origin_ = coordinate;
  }

  bool crops_ = false;
  double last_ = 0;
  double shift_ = 0;
  double region_ = 1;
  double numerator_ = 1;
  double denominator_ = 1;
  double origin_ = 0;
  double end_ = 0;
};

bool RoundsUp(NearestMode mode, const ResizeAxis& axis, double fraction) {
  switch (mode) {
    case NearestMode::kRoundPreferFloor:
      return fraction > 0.5;
    case NearestMode::kRoundPreferCeil:
      return fraction >= 0.5;
    case NearestMode::kFloor:
      return false;
    case NearestMode::kCeil:
      return fraction > 0;
    case NearestMode::kOutward:
      return fraction > 0 && axis.width < static_cast<double>(axis.input);
  }
  return false;
}

// The filter's value at `distance` >= 0 from its center.
double FilterAt(const ResizeAttributes& attributes, double distance) {
  if (attributes.interpolation == Interpolation::kLinear) return std::max(0.0, 1 - distance);
  const double a = attributes.cubic_coeff_a;
  const double d = distance;
  if (d <= 1) return d * d * ((a + 2) * d - (a + 3)) + 1;
  return d < 2 ? a * (d * (d * (d - 5) + 8) - 4) : 0;
}

// The weights of one output position, with those of one input position added up.
class Taps {
 public:
  Taps(const ResizeAttributes& attributes, const ResizeAxis& axis)
      : attributes_(attributes), input_(axis.input) {
    const double shrinkage = static_cast<double>(axis.input) / axis.width;
    if (attributes.antialias && shrinkage > 1) stretch_ = shrinkage;
    reach_ = stretch_ * (attributes.interpolation == Interpolation::kLinear ? 1 : 2);
  }

  void At(double coordinate) {
    taps_.clear();
    double sum = 0;
    const auto end = static_cast<int64_t>(std::floor(coordinate + reach_));
    for (auto i = static_cast<int64_t>(std::ceil(coordinate - reach_)); i <= end; ++i) {
      const bool inside = i >= 0 && i < input_;
      if (attributes_.exclude_outside && !inside) continue;
      const double weight =
          FilterAt(attributes_, std::fabs(static_cast<double>(i) - coordinate) / stretch_);
      if (weight == 0) continue;
      sum += weight;
      const int64_t position = std::clamp<int64_t>(i, 0, input_ - 1);
      if (!taps_.empty() && taps_.back().first == position) {
        taps_.back().second += weight;
      } else {
        taps_.emplace_back(position, weight);
      }
    }
    // The weights of the plain filters add up to 1 already.
    if (!attributes_.exclude_outside && !attributes_.antialias) return;
    for (auto& [position, weight] : taps_) weight /= sum;
  }

  const std::vector<std::pair<int64_t, double>>& taps() const { return taps_; }

 private:
  const ResizeAttributes& attributes_;
  const int64_t input_;
  double stretch_ = 1;
  double reach_ = 1;
  std::vector<std::pair<int64_t, double>> taps_;
};

}  // namespace

bool IsUnchanged(const ResizeAttributes& attributes, const ResizeAxis& axis) {
  const bool crops = attributes.transformation == CoordinateTransformation::kTfCropAndResize;
  return axis.output == axis.input && axis.width == static_cast<double>(axis.input) &&
         (!crops || (axis.start == 0 && axis.end == 1));
}

std::vector<int64_t> NearestPositions(const ResizeAttributes& attributes, const ResizeAxis& axis) {
  const Coordinates coordinates(attributes.transformation, axis);
  std::vector<int64_t> positions(axis.output);
  for (int64_t i = 0; i < axis.output; ++i) {
    const double x = coordinates(i);
    if (coordinates.IsOutside(x)) {
      positions[i] = -1;
      continue;
    }
    const double below = std::floor(x);
    const int64_t nearest = static_cast<int64_t>(below) +
                            static_cast<int64_t>(RoundsUp(attributes.nearest, axis, x - below));
    positions[i] = std::clamp<int64_t>(nearest, 0, axis.input - 1);
  }
  return positions;
}

WeightTable WeightsAlong(const ResizeAttributes& attributes, const ResizeAxis& axis) {
  const Coordinates coordinates(attributes.transformation, axis);
  Taps taps(attributes, axis);
  WeightTable table = {.outputs = axis.output,
                       .taps = 0,
                       .positions = {},
                       .weights = {},
                       .start = std::vector<float>(axis.output, 0)};
  // The taps of all output positions, and where those of each end.
  std::vector<std::pair<int64_t, double>> all;
  std::vector<size_t> ends(axis.output);
  for (int64_t i = 0; i < axis.output; ++i) {
    const double x = coordinates(i);
    if (coordinates.IsOutside(x)) {
      table.start[i] = static_cast<float>(attributes.extrapolation_value);
    } else {
      taps.At(x);
      all.insert(all.end(), taps.taps().begin(), taps.taps().end());
      table.taps = std::max(table.taps, static_cast<int64_t>(taps.taps().size()));
    }
    ends[i] = all.size();
  }
  table.positions.assign(table.taps * axis.output, 0);
  table.weights.assign(table.taps * axis.output, 0);
  size_t next = 0;
  for (int64_t i = 0; i < axis.output; ++i) {
    int64_t position = 0;
    for (int64_t k = 0; k < table.taps; ++k) {
      const bool exists = next < ends[i];
      if (exists) position = all[next].first;
      table.positions[k * axis.output + i] = static_cast<int32_t>(position);
      if (exists) table.weights[k * axis.output + i] = static_cast<float>(all[next++].second);
    }
  }
  return table;
}

}  // namespace attnrun::ops
