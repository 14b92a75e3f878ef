// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_QUANTIZATION_QDQ_GRANULARITY_H_
#define ATTNRUN_OPS_QUANTIZATION_QDQ_GRANULARITY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "attnrun/tensor.h"
#include "ops/interface/axes_context.h"

namespace attnrun::ops {

// Maps the elements of x, as [outer, axis, inner] around the quantization axis, to their scales.
// `scale` is one element (per tensor), [axis] (per axis), or has the shape of x with ceil(axis /
// block_size) along the axis (blocked).
struct Granularity {
  int64_t outer = 1;
  int64_t axis = 1;
  int64_t inner = 1;
  // Neighbours along the axis that share a scale.
  int64_t block = 1;
  // Strides of the scale by outer index, block and inner index; 0 where elements share a scale.
  int64_t outer_stride = 0;
  int64_t block_stride = 0;
  int64_t inner_stride = 0;

  // The index of the scale of element i of x.
  int64_t ScaleIndex(int64_t i) const {
    const int64_t along = i / inner % axis;
    return i / inner / axis * outer_stride + along / block * block_stride +
           i % inner * inner_stride;
  }
};

// kInvalidArgument if the scale's shape is none of the three, or if the zero point (null if left
// out) has another shape. A negative axis counts from the back; a tensor of rank 1 has only one,
// whatever `axis` is.
absl::StatusOr<Granularity> ResolveGranularity(const Tensor& x, const Tensor& scale,
                                               const Tensor* zero_point, int64_t axis,
                                               int64_t block_size);

// Adds the axes of an element-wise operator with the inputs x, scale and zero point.
void AddGranularityAxes(AxesContext& context, int64_t axis, int64_t block_size);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_QUANTIZATION_QDQ_GRANULARITY_H_
