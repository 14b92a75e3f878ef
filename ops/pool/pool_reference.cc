// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/elements.h"
#include "core/status.h"
#include "ops/pool/pool.h"

namespace attnrun::ops {
namespace {

struct Pooled {
  double value = 0;
  // The index of the maximum in the image; -1 if the window is empty.
  int64_t index = -1;
};

Pooled Largest(const SlidingWindow& window, const double* image, const Shape& position,
               double least) {
  Pooled best = {least, -1};
  ForEachTap(window, position, [&](int64_t, int64_t offset) {
    const double value = image[offset];
    const bool better = value > best.value || (std::isnan(value) && !std::isnan(best.value));
    if (best.index < 0 || better) best = {value, offset};
  });
  return best;
}

// The number of elements of the window at `position`, including padding.
double CountWithPadding(const SlidingWindow& window, const Shape& position) {
  double count = 1;
  for (size_t axis = 0; axis < position.size(); ++axis) {
    const int64_t room =
        window.input[axis] + window.pads_end[axis] - window.coordinate(axis, position[axis], 0);
    const int64_t taps = (room + window.dilations[axis] - 1) / window.dilations[axis];
    count *= static_cast<double>(std::min(window.kernel[axis], taps));
  }
  return count;
}

double Average(const SlidingWindow& window, const double* image, const Shape& position,
               bool with_padding) {
  double sum = 0;
  int64_t count = 0;
  ForEachTap(window, position, [&](int64_t, int64_t offset) {
    sum += image[offset];
    ++count;
  });
  return sum / (with_padding ? CountWithPadding(window, position) : static_cast<double>(count));
}

double Norm(const SlidingWindow& window, const double* image, const Shape& position, double p) {
  double sum = 0;
  ForEachTap(window, position,
             [&](int64_t, int64_t offset) { sum += std::pow(std::fabs(image[offset]), p); });
  return std::pow(sum, 1 / p);
}

Pooled PoolWindow(const PoolAttributes& attributes, const SlidingWindow& window,
                  const double* image, const Shape& position, double least) {
  switch (attributes.pooling) {
    case Pooling::kMax:
      return Largest(window, image, position, least);
    case Pooling::kAverage:
      return {Average(window, image, position, attributes.count_include_pad), -1};
    case Pooling::kLp:
      return {Norm(window, image, position, static_cast<double>(attributes.p)), -1};
  }
  return {};
}

// The value that stands for -inf in the output type.
double Least(DataType type) {
  if (type == DataType::kInt8) return -128;
  if (type == DataType::kUint8) return 0;
  return -std::numeric_limits<double>::infinity();
}

// The column-major index (first axis fastest) of row-major `offset`.
int64_t ColumnMajor(const Shape& extents, int64_t offset) {
  int64_t place = 0;
  for (size_t axis = extents.size(); axis-- > 0;) {
    int64_t stride = 1;
    for (size_t before = 0; before < axis; ++before) stride *= extents[before];
    place += offset % extents[axis] * stride;
    offset /= extents[axis];
  }
  return place;
}

}  // namespace

absl::Status Pool::Reference(OpContext& context) const {
  const Tensor& x = context.input(0);
  Allocator& allocator = context.allocator();
  ATTNRUN_ASSIGN_OR_RETURN(const PoolShape shape, ResolvePool(attributes_, x));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(x));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor results,
                           Tensor::Allocate(DataType::kDouble, shape.output, allocator));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor indices,
                           Tensor::Allocate(DataType::kInt64, shape.output, allocator));
  const double least = Least(x.type());
  auto* result = results.mutable_data<double>();
  auto* index = indices.mutable_data<int64_t>();
  for (int64_t n = 0; n < shape.count; ++n) {
    const double* image = values.data() + n * shape.input_size;
    ForEachPosition(shape.window, [&](const Shape& position) {
      Pooled pooled = PoolWindow(attributes_, shape.window, image, position, least);
      if (pooled.index >= 0) {
        if (attributes_.column_major) pooled.index = ColumnMajor(shape.window.input, pooled.index);
        pooled.index += n * shape.input_size;
      }
      *result++ = pooled.value;
      *index++ = pooled.index;
    });
  }
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor y,
      FromDoubles(x.type(), shape.output,
                  absl::MakeSpan(results.data<double>(), results.num_elements()), allocator));
  context.SetOutput(0, std::move(y));
  context.SetOutput(1, std::move(indices));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
