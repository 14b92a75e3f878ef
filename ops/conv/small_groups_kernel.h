// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_SMALL_GROUPS_KERNEL_H_
#define ATTNRUN_OPS_CONV_SMALL_GROUPS_KERNEL_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "attnrun/tensor.h"
#include "ops/conv/conv.h"

// ConvInteger in groups of few channels, as of a depthwise convolution. They give products too
// narrow for integers, but their sums are short, and so exact in float.
namespace attnrun::ops {

// True if `tensor` has no zero point, or one of its own type: one number, or one per channel.
inline bool FitsZeroPoint(const Tensor& tensor, const Tensor* zero_point, int64_t channels) {
  if (zero_point == nullptr) return true;
  const int64_t count = zero_point->num_elements();
  return zero_point->type() == tensor.type() && zero_point->rank() <= 1 &&
         (count == 1 || count == channels);
}

// True if the matrices of a group are narrower than a vector, and floats hold all sums.
// Precondition: w [M, C/group, ..] has features.
bool SuitsSmallGroups(const Tensor& w, int64_t groups);

// Preconditions: SuitsSmallGroups, and FitsZeroPoint(w, zero_points, M); null: no zero points.
absl::StatusOr<std::unique_ptr<Kernel>> MakeSmallGroupsKernel(const ConvAttributes& attributes,
                                                              const Tensor& w,
                                                              const Tensor* zero_points);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_SMALL_GROUPS_KERNEL_H_
