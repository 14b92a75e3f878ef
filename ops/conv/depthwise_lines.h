// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_DEPTHWISE_LINES_H_
#define ATTNRUN_OPS_CONV_DEPTHWISE_LINES_H_

#include <cstdint>

#include "absl/types/span.h"
#include "ops/gemm/activation.h"
#include "ops/tensors/index_range.h"

// Lines of depthwise convolutions on channels-last images.
namespace attnrun::ops {

// A line of taps: the line of x that it reads, and its weights [taps, C].
struct TapLine {
  const float* x;
  const float* weights;
};

// Windows that follow each other along a line of y, all of which read the same taps.
struct DepthwiseRun {
  absl::Span<const TapLine> lines;
  // C, and the channels to convolve.
  int64_t channels;
  IndexRange part;
  // The floats from the beginning of each line of x to the first window's first tap, from window to
  // window, and from tap to tap.
  int64_t offset;
  int64_t step;
  int64_t tap_step;
  IndexRange taps;
  int64_t count;
  // [count, C]
  float* y;
  // [C], or null. Sums begin with it.
  const float* bias;
  // True if the sums are added to y.
  bool accumulate;
  // Clamps the sums if it does no more than that (see EndsWithSums), else left to EndLine.
  Activation activation;
};

// How a line of y, [count, C], ends.
struct DepthwiseEnd {
  int64_t count;
  // C, and those of them that end here.
  int64_t channels;
  IndexRange part;
  // Null for none.
  const float* residual;
  bool residual_first;
  Activation activation;
  float* y;
};

void SumRun(const DepthwiseRun& run);
// True if SumRun applies the activation.
bool EndsWithSums(const Activation& activation);
void EndLine(const DepthwiseEnd& end);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_DEPTHWISE_LINES_H_
