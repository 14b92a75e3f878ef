// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_TRANSPOSED_PARTS_H_
#define ATTNRUN_OPS_CONV_TRANSPOSED_PARTS_H_

#include <cstdint>
#include <vector>

#include "ops/conv/conv.h"

// A transposed convolution as ordinary ones. Along an axis of stride s, position p of y has the
// phase (p + pad) % s and the step t = (p + pad) / s. All positions of one phase read x with the
// same elements k of the kernel, those with k * dilation % s == phase:
//
//   y[p] = sum over k of x[t - (k * dilation - phase) / s] * w[k]
//
// So each phase is a convolution of stride 1 over t. Phases that read x at the same offsets share
// one convolution, as further features of its output. With stride 2 and a kernel of 4, all of y is
// one convolution by a kernel of 2.
namespace attnrun::ops {

// Phases of one axis that read x at the same offsets, t - delay - j * dilation for j < taps.
struct AxisPhases {
  struct Phase {
    int64_t phase;
    // The phase's element j of the kernel is first_tap + j * tap_step.
    int64_t first_tap;
  };
  std::vector<Phase> phases;
  int64_t taps;
  int64_t tap_step;
  int64_t delay;
  int64_t dilation;
};

// One of the convolutions. Its features are ordered by feature of y, then by phase, the last axis
// fastest.
struct TransposedPart {
  std::vector<AxisPhases> axes;

  // The number of phases, over all axes.
  int64_t phases() const;
  // The convolution for a call whose shape is `transposed`. Position i of its output along an axis
  // is the step first_steps[axis] + i.
  ConvShape ShapeOf(const ConvShape& transposed, Shape& first_steps) const;
  // The weights for the convolution, [M * phases, C/group, taps..], from w [C, M/group, kernel..].
  std::vector<float> WeightsOf(const ConvShape& transposed, const float* w) const;
};

// The convolutions that make up y, for calls of any extents of x. Phases without an element of the
// kernel belong to none. If they are few, those of a depthwise convolution are parts of their own,
// which are depthwise, too.
std::vector<TransposedPart> PartsOf(const ConvShape& transposed);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_TRANSPOSED_PARTS_H_
