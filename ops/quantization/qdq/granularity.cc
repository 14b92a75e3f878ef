// SPDX-License-Identifier: Apache-2.0
#include "ops/quantization/qdq/granularity.h"

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace attnrun::ops {
namespace {

absl::Status WrongScale(const Tensor& x, const Tensor& scale, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat("the scale of ", TypeAndShape(x), " must be ",
                                                 expected, ", but is ", TypeAndShape(scale)));
}

absl::Status CheckZeroPoint(const Tensor& scale, const Tensor& zero_point) {
  const bool single = scale.num_elements() == 1 && zero_point.num_elements() == 1;
  if (single || scale.shape() == zero_point.shape()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("scale ", ToString(scale.shape()),
                                                 " and zero point ", ToString(zero_point.shape()),
                                                 " must be of one shape"));
}

// Splits x into [outer, axis, inner] around `axis`.
Granularity SplitAt(const Tensor& x, int axis) {
  Granularity result;
  for (int i = 0; i < axis; ++i) result.outer *= x.dim(i);
  result.axis = x.dim(axis);
  for (int i = axis + 1; i < x.rank(); ++i) result.inner *= x.dim(i);
  return result;
}

absl::StatusOr<Granularity> Blocked(const Tensor& x, const Tensor& scale, int axis,
                                    int64_t block_size) {
  const int64_t blocks = x.dim(axis) / block_size + (x.dim(axis) % block_size != 0 ? 1 : 0);
  Shape expected = x.shape();
  expected[axis] = blocks;
  if (scale.shape() != expected) return WrongScale(x, scale, ToString(expected));
  Granularity result = SplitAt(x, axis);
  result.block = block_size;
  result.outer_stride = blocks * result.inner;
  result.block_stride = result.inner;
  result.inner_stride = 1;
  return result;
}

}  // namespace

absl::StatusOr<Granularity> ResolveGranularity(const Tensor& x, const Tensor& scale,
                                               const Tensor* zero_point, int64_t axis,
                                               int64_t block_size) {
  if (zero_point != nullptr) ATTNRUN_RETURN_IF_ERROR(CheckZeroPoint(scale, *zero_point));
  if (block_size < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("block_size must not be negative, but is ", block_size));
  }
  // Per tensor: all axes are one.
  if (scale.num_elements() == 1 && (scale.rank() == 0 || block_size == 0)) {
    Granularity per_tensor;
    per_tensor.inner = x.num_elements();
    return per_tensor;
  }
  if (x.rank() == 1) axis = 0;
  ATTNRUN_ASSIGN_OR_RETURN(const int at, NormalizeAxis(axis, x.rank()));
  if (block_size > 0) return Blocked(x, scale, at, block_size);
  if (scale.rank() != 1 || scale.dim(0) != x.dim(at)) {
    return WrongScale(x, scale, absl::StrCat("one number or [", x.dim(at), "]"));
  }
  Granularity per_axis = SplitAt(x, at);
  per_axis.block_stride = 1;
  return per_axis;
}

}  // namespace attnrun::ops
