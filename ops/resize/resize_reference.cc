// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/elements.h"
#include "core/status.h"
#include "ops/resize/resize.h"
#include "ops/tensors/element_copy.h"

namespace attnrun::ops {
namespace {

// The coordinate of output `position` in the input. Precondition: axis.output > 0.
double Coordinate(CoordinateTransformation mode, const ResizeAxis& axis, int64_t position) {
  const auto at = static_cast<double>(position);
  const auto input = static_cast<double>(axis.input);
  const auto output = static_cast<double>(axis.output);
  const bool crops = mode == CoordinateTransformation::kTfCropAndResize;
  if (!crops && axis.output == axis.input && axis.width == input) return at;
  // (position + shift) / scale, rounded only once, as the ties of nearest depend on it.
  const auto unscaled = [&](double shift) { return (at + shift) * input / axis.width; };
  switch (mode) {
    case CoordinateTransformation::kHalfPixel:
      return unscaled(0.5) - 0.5;
    case CoordinateTransformation::kHalfPixelSymmetric:
      return input / 2 * (1 - output / axis.width) + unscaled(0.5) - 0.5;
    case CoordinateTransformation::kPytorchHalfPixel:
      return axis.output > 1 ? unscaled(0.5) - 0.5 : 0;
    case CoordinateTransformation::kAlignCorners:
      return axis.output > 1 ? at * (input - 1) / (axis.width - 1) : 0;
    case CoordinateTransformation::kAsymmetric:
      return unscaled(0);
    case CoordinateTransformation::kTfHalfPixelForNn:
      return unscaled(0.5);
    case CoordinateTransformation::kTfCropAndResize:
      if (axis.output == 1) return 0.5 * (axis.start + axis.end) * (input - 1);
      return at * (axis.end - axis.start) * (input - 1) / (axis.width - 1) +
             axis.start * (input - 1);
  }
  return 0;
}

// True if the output is extrapolation_value there, as it also is if a huge roi makes x NaN.
bool IsExtrapolated(CoordinateTransformation mode, const ResizeAxis& axis, double x) {
  return mode == CoordinateTransformation::kTfCropAndResize &&
         !(x >= 0 && x <= static_cast<double>(axis.input - 1));
}

int64_t Nearest(NearestMode mode, const ResizeAxis& axis, double x) {
  const double below = std::floor(x);
  const double rest = x - below;
  bool up = false;
  switch (mode) {
    case NearestMode::kRoundPreferFloor:
      up = rest > 0.5;
      break;
    case NearestMode::kRoundPreferCeil:
      up = rest >= 0.5;
      break;
    case NearestMode::kFloor:
      break;
    case NearestMode::kCeil:
      up = rest > 0;
      break;
    case NearestMode::kOutward:
      up = rest > 0 && axis.width < static_cast<double>(axis.input);
      break;
  }
  return std::clamp<int64_t>(static_cast<int64_t>(below) + (up ? 1 : 0), 0, axis.input - 1);
}

Shape OutputShape(absl::Span<const ResizeAxis> axes) {
  Shape shape;
  for (const ResizeAxis& axis : axes) shape.push_back(axis.output);
  return shape;
}

// The filter at distance x from its center; 0 beyond 1 (linear) or 2 (cubic, Keys' equation 4).
double Filter(const ResizeAttributes& attributes, double x) {
  x = std::fabs(x);
  if (attributes.interpolation == Interpolation::kLinear) return std::max(0.0, 1 - x);
  const double a = attributes.cubic_coeff_a;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

// Calls visit(position, weight) for the input positions that contribute to coordinate x; positions
// outside are read at the edge. Weights are not normalized.
template <typename Visit>
void ForEachWeight(const ResizeAttributes& attributes, const ResizeAxis& axis, double x,
                   Visit visit) {
  const double scale = axis.width / static_cast<double>(axis.input);
  const double stretch = attributes.antialias ? std::max(1.0, 1 / scale) : 1;
  const double support = (attributes.interpolation == Interpolation::kLinear ? 1 : 2) * stretch;
  const auto last = static_cast<int64_t>(std::floor(x + support));
  for (auto i = static_cast<int64_t>(std::ceil(x - support)); i <= last; ++i) {
    if (attributes.exclude_outside && (i < 0 || i >= axis.input)) continue;
    const double weight = Filter(attributes, (static_cast<double>(i) - x) / stretch);
    // An infinity of weight 0 must not make the sum NaN.
    if (weight != 0) visit(std::clamp<int64_t>(i, 0, axis.input - 1), weight);
  }
}

// The divisor of the weights. Weights of the plain filters add up to 1 already.
double WeightSum(const ResizeAttributes& attributes, const ResizeAxis& axis, double x) {
  if (!attributes.exclude_outside && !attributes.antialias) return 1;
  double sum = 0;
  ForEachWeight(attributes, axis, x, [&sum](int64_t, double weight) { sum += weight; });
  return sum;
}

// Adds from[outer, input, inner], resized, to to[outer, output, inner], which begins as zeros.
void ResizeAlong(const ResizeAttributes& attributes, const ResizeAxis& axis, int64_t outer,
                 int64_t inner, const double* from, double* to) {
  for (int64_t position = 0; position < axis.output; ++position) {
    const double x = Coordinate(attributes.transformation, axis, position);
    if (IsExtrapolated(attributes.transformation, axis, x)) {
      for (int64_t i = 0; i < outer; ++i) {
        std::fill_n(to + (i * axis.output + position) * inner, inner,
                    attributes.extrapolation_value);
      }
      continue;
    }
    const double sum = WeightSum(attributes, axis, x);
    ForEachWeight(attributes, axis, x, [&](int64_t source, double weight) {
      for (int64_t i = 0; i < outer; ++i) {
        const double* in = from + (i * axis.input + source) * inner;
        double* out = to + (i * axis.output + position) * inner;
        for (int64_t j = 0; j < inner; ++j) out[j] += weight / sum * in[j];
      }
    });
  }
}

bool IsIdentity(const ResizeAttributes& attributes, const ResizeAxis& axis) {
  const bool crops = attributes.transformation == CoordinateTransformation::kTfCropAndResize;
  return axis.output == axis.input && axis.width == static_cast<double>(axis.input) &&
         (!crops || (axis.start == 0 && axis.end == 1));
}

// The axes, shrinking ones first, so that no intermediate result is larger than both x and y.
std::vector<int> ShrinkingFirst(absl::Span<const ResizeAxis> axes) {
  std::vector<int> order(axes.size());
  std::iota(order.begin(), order.end(), 0);
  const auto growth = [&](int i) {
    return static_cast<double>(axes[i].output) / static_cast<double>(axes[i].input);
  };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return growth(a) < growth(b); });
  return order;
}

// Rounds to integers of `type`, saturating.
void Saturate(DataType type, absl::Span<double> values) {
  if (type == DataType::kBool || !IsInteger(type)) return;
  const bool is_signed = type == DataType::kInt8 || type == DataType::kInt16 ||
                         type == DataType::kInt32 || type == DataType::kInt64 ||
                         type == DataType::kInt4 || type == DataType::kInt2;
  const double end = std::ldexp(1.0, BitWidth(type) - (is_signed ? 1 : 0));
  // The largest double below `end`, if end - 1 is not a double.
  const double greatest = std::min(end - 1, std::nextafter(end, 0));
  for (double& value : values) {
    value = std::clamp(std::nearbyint(value), is_signed ? -end : 0, greatest);
  }
}

}  // namespace

absl::Status ResizeNearest(const ResizeAttributes& attributes, absl::Span<const ResizeAxis> axes,
                           OpContext& context) {
  const Tensor& x = context.input(0);
  Tensor outside;
  if (attributes.transformation == CoordinateTransformation::kTfCropAndResize) {
    ATTNRUN_ASSIGN_OR_RETURN(outside, FromDoubles(x.type(), {}, {attributes.extrapolation_value}));
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, AllocateZeros(context, 0, x.type(), OutputShape(axes)));
  const Shape strides = DenseStrides(x.shape());
  for (int64_t i = 0; i < y->num_elements(); ++i) {
    int64_t rest = i;
    int64_t source = 0;
    bool extrapolated = false;
    for (size_t axis = axes.size(); axis-- > 0;) {
      const double at = Coordinate(attributes.transformation, axes[axis], rest % axes[axis].output);
      rest /= axes[axis].output;
      extrapolated = IsExtrapolated(attributes.transformation, axes[axis], at);
      if (extrapolated) break;
      source += Nearest(attributes.nearest, axes[axis], at) * strides[axis];
    }
    CopyElement(extrapolated ? outside : x, extrapolated ? 0 : source, *y, i);
  }
  return absl::OkStatus();
}

absl::Status ResizeWeighted(const ResizeAttributes& attributes, absl::Span<const ResizeAxis> axes,
                            OpContext& context) {
  const Tensor& x = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(x));
  Shape shape = x.shape();
  ATTNRUN_ASSIGN_OR_RETURN(Tensor result,
                           FromDoubles(DataType::kDouble, shape, values, context.allocator()));
  // A y without elements may have other extents that no memory would hold.
  const Shape output = OutputShape(axes);
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t count, NumElements(output));
  for (const int i : count == 0 ? std::vector<int>() : ShrinkingFirst(axes)) {
    if (IsIdentity(attributes, axes[i])) continue;
    shape[i] = axes[i].output;
    ATTNRUN_ASSIGN_OR_RETURN(Tensor next,
                             Tensor::Allocate(DataType::kDouble, shape, context.allocator()));
    std::fill_n(next.mutable_data<double>(), next.num_elements(), 0.0);
    const absl::Span<const int64_t> extents = shape;
    ATTNRUN_ASSIGN_OR_RETURN(const int64_t outer, NumElements(extents.first(i)));
    ATTNRUN_ASSIGN_OR_RETURN(const int64_t inner, NumElements(extents.subspan(i + 1)));
    ResizeAlong(attributes, axes[i], outer, inner, result.data<double>(),
                next.mutable_data<double>());
    result = std::move(next);
  }
  const absl::Span<double> sums(result.mutable_data<double>(), static_cast<size_t>(count));
  Saturate(x.type(), sums);
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y, FromDoubles(x.type(), output, sums, context.allocator()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
