// SPDX-License-Identifier: Apache-2.0
#include "attnrun/shape.h"

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace attnrun {

absl::StatusOr<int64_t> NumElements(absl::Span<const int64_t> shape) {
  // An extent of 0 makes the tensor empty, but the others must not overflow either: strides
  // multiply them.
  int64_t product = 1;
  bool empty = false;
  for (const int64_t extent : shape) {
    if (extent < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape ", ToString(shape), " has a negative extent"));
    }
    if (extent == 0) {
      empty = true;
      continue;
    }
    if (product > std::numeric_limits<int64_t>::max() / extent) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape ", ToString(shape), " has more elements than 64 bits can count"));
    }
    product *= extent;
  }
  return empty ? 0 : product;
}

std::string ToString(absl::Span<const int64_t> shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ","), "]");
}

Shape DenseStrides(absl::Span<const int64_t> shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(shape[i], 1);
  }
  return strides;
}

absl::StatusOr<int> NormalizeAxis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis ", axis, " is outside [", -rank, ",", rank - 1, "] for rank ", rank));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

absl::StatusOr<Shape> BroadcastShapes(absl::Span<const int64_t> a, absl::Span<const int64_t> b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape result(rank);
  for (size_t i = 0; i < rank; ++i) {
    // Axes align at the innermost one; a missing axis counts as 1.
    const int64_t extent_a = i < rank - a.size() ? 1 : a[i - (rank - a.size())];
    const int64_t extent_b = i < rank - b.size() ? 1 : b[i - (rank - b.size())];
    if (extent_a != extent_b && extent_a != 1 && extent_b != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("shapes ", ToString(a), " and ", ToString(b), " do not broadcast"));
    }
    result[i] = extent_a == 1 ? extent_b : extent_a;
  }
  return result;
}

}  // namespace attnrun
