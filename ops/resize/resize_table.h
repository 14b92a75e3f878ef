// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_RESIZE_RESIZE_TABLE_H_
#define ATTNRUN_OPS_RESIZE_RESIZE_TABLE_H_

#include <cstdint>
#include <vector>

#include "ops/resize/resize.h"

// The positions of the input that each output position of an axis reads, for kernels.
namespace attnrun::ops {

// True if the output along the axis is the input.
bool IsUnchanged(const ResizeAttributes& attributes, const ResizeAxis& axis);

// The nearest input position of every output position; -1 where the output is
// extrapolation_value.
std::vector<int64_t> NearestPositions(const ResizeAttributes& attributes, const ResizeAxis& axis);

// Output position i is start[i] plus the sum over taps k of weight(i, k) * the input at
// position(i, k).
struct WeightTable {
  int64_t outputs;
  // Output positions of fewer taps have taps of weight 0, whose positions repeat another.
  int64_t taps;
  // Tap k of output position i is element k * outputs + i.
  std::vector<int32_t> positions;
  std::vector<float> weights;
  // extrapolation_value where the output is extrapolated, without taps, else 0.
  std::vector<float> start;
};

// Precondition: the input has fewer than 2^31 positions.
WeightTable WeightsAlong(const ResizeAttributes& attributes, const ResizeAxis& axis);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_RESIZE_RESIZE_TABLE_H_
