// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <complex>
#include <utility>
#include <vector>

#include "core/elements.h"
#include "core/status.h"
#include "ops/tensors/element_copy.h"
#include "ops/vision/grid_sample.h"

namespace attnrun::ops {
namespace {

// An element that contributes to a result; position -1 is outside and counts as 0.
struct Tap {
  int64_t position;
  double weight;
};

// One axis of the image.
class SampledAxis {
 public:
  SampledAxis(const GridAttributes& attributes, int64_t extent)
      : attributes_(attributes),
        extent_(extent),
        low_(attributes.align_corners ? 0 : -0.5),
        high_(static_cast<double>(extent) - (attributes.align_corners ? 1 : 0.5)) {}

  std::vector<Tap> Taps(double normalized) const {
    const double x = Place(normalized);
    // Beyond 2^50 nothing but zeros is near.
    if (!(std::fabs(x) < 0x1p50)) return {{attributes_.padding == GridPadding::kZeros ? -1 : 0, 1}};
    const double below = std::floor(x);
    const auto first = static_cast<int64_t>(below);
    const double t = x - below;
    switch (attributes_.mode) {
      case GridMode::kNearest:
        return {{Inside(first), 1}};
      case GridMode::kLinear:
        return {{Inside(first), 1 - t}, {Inside(first + 1), t}};
      case GridMode::kCubic:
        break;
    }
    std::vector<Tap> taps;
    taps.reserve(4);
    for (int64_t i = -1; i <= 2; ++i) {
      taps.push_back({Inside(first + i), Cubic(std::fabs(t - static_cast<double>(i)))});
    }
    return taps;
  }

 private:
  // Keys' filter at distance x from its center.
  static double Cubic(double x) {
    constexpr double kA = -0.75;
    if (x <= 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
    return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA;
  }

  // The coordinate among the elements, after padding.
  double Place(double normalized) const {
    const auto extent = static_cast<double>(extent_);
    double x = attributes_.align_corners ? (normalized + 1) / 2 * (extent - 1)
                                         : ((normalized + 1) * extent - 1) / 2;
    if (attributes_.mode == GridMode::kNearest) x = std::nearbyint(x);
    if (x >= low_ && x <= high_) return x;
    switch (attributes_.padding) {
      case GridPadding::kZeros:
        return x;
      case GridPadding::kBorder:
        return std::clamp(x, 0.0, extent - 1);
      case GridPadding::kReflection:
        break;
    }
    return Reflected(x);
  }

  double Reflected(double x) const {
    const double span = high_ - low_;
    if (span == 0) return low_;
    const double folded = std::fmod(std::fabs(x - low_), 2 * span);
    return low_ + (folded <= span ? folded : 2 * span - folded);
  }

  int64_t Inside(int64_t position) const {
    if (position >= 0 && position < extent_) return position;
    switch (attributes_.padding) {
      case GridPadding::kZeros:
        return -1;
      case GridPadding::kBorder:
        return std::clamp<int64_t>(position, 0, extent_ - 1);
      case GridPadding::kReflection:
        break;
    }
    return static_cast<int64_t>(Reflected(static_cast<double>(position)));
  }

  const GridAttributes attributes_;
  const int64_t extent_;
  // The span's ends, where places are reflected.
  const double low_;
  const double high_;
};

// Calls visit(position in an image, weight) for the elements that contribute to a result. Those
// outside are skipped, being 0.
template <typename Visit>
void ForEachTap(const std::vector<std::vector<Tap>>& axes, absl::Span<const int64_t> extents,
                Visit visit, size_t axis = 0, int64_t position = 0, double weight = 1) {
  if (axis == axes.size()) return visit(position, weight);
  for (const Tap& tap : axes[axis]) {
    if (tap.position < 0) continue;
    ForEachTap(axes, extents, visit, axis + 1, position * extents[axis] + tap.position,
               weight * tap.weight);
  }
}

// Calls visit(image, result, taps) for every result, with the numbers of its image and its own
// within the output.
template <typename Visit>
absl::Status ForEachResult(const GridAttributes& attributes, const Tensor& x, const Tensor& grid,
                           int64_t count, Visit visit) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> places, ToDoubles(grid));
  if (count == 0) return absl::OkStatus();
  const int64_t images = x.dim(0) * x.dim(1);
  const int64_t axes = x.rank() - 2;
  const int64_t per_image = count / images;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t image = i / per_image;
    const int64_t place = image / x.dim(1) * per_image + i % per_image;
    std::vector<std::vector<Tap>> taps;
    for (int64_t axis = 0; axis < axes; ++axis) {
      const double normalized = places[place * axes + axes - 1 - axis];
      taps.push_back(SampledAxis(attributes, x.dim(static_cast<int>(axis) + 2)).Taps(normalized));
    }
    visit(image, i, taps);
  }
  return absl::OkStatus();
}

template <typename T>
absl::StatusOr<std::vector<T>> Sample(const GridAttributes& attributes, const Tensor& x,
                                      const Tensor& grid, int64_t count,
                                      const std::vector<T>& values) {
  std::vector<T> results(count);
  const absl::Span<const int64_t> extents = absl::MakeSpan(x.shape()).subspan(2);
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t size, NumElements(extents));
  ATTNRUN_RETURN_IF_ERROR(
      ForEachResult(attributes, x, grid, count,
                    [&](int64_t image, int64_t result, const std::vector<std::vector<Tap>>& taps) {
                      ForEachTap(taps, extents, [&](int64_t position, double weight) {
                        results[result] += weight * values[image * size + position];
                      });
                    }));
  return results;
}

}  // namespace

absl::Status GridSample::Reference(OpContext& context) const {
  const Tensor& x = context.input(0);
  const Tensor& grid = context.input(1);
  ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, CheckGrid(x, grid));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, AllocateZeros(context, 0, x.type(), shape));
  const int64_t count = y->num_elements();
  if (attributes_.mode == GridMode::kNearest) {
    const absl::Span<const int64_t> extents = absl::MakeSpan(x.shape()).subspan(2);
    ATTNRUN_ASSIGN_OR_RETURN(const int64_t size, NumElements(extents));
    return ForEachResult(
        attributes_, x, grid, count,
        [&](int64_t image, int64_t result, const std::vector<std::vector<Tap>>& taps) {
          ForEachTap(taps, extents, [&](int64_t position, double /*weight*/) {
            CopyElement(x, image * size + position, *y, result);
          });
        });
  }
  if (x.type() == DataType::kComplex64 || x.type() == DataType::kComplex128) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<std::complex<double>> values, ToComplex(x));
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<std::complex<double>> results,
                             Sample(attributes_, x, grid, count, values));
    ATTNRUN_ASSIGN_OR_RETURN(*y, FromComplex(x.type(), shape, results, context.allocator()));
    return absl::OkStatus();
  }
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(x));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> results,
                           Sample(attributes_, x, grid, count, values));
  ATTNRUN_ASSIGN_OR_RETURN(*y, FromDoubles(x.type(), shape, results, context.allocator()));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
