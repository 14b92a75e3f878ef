// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_SIGNAL_LINE_TRANSFORM_H_
#define ATTNRUN_OPS_SIGNAL_LINE_TRANSFORM_H_

#include <cstdint>
#include <memory>

#include "ops/signal/fft.h"

namespace attnrun::ops {

// How a node transforms each of its lines.
struct LineFormat {
  // Numbers of the transform.
  int64_t length;
  // Numbers of a line that are read; those that follow are zeros, or mirror images for `mirrored`.
  int64_t given;
  // Floats of a number that is read: 1 if it is real, else 2.
  int64_t width;
  bool mirrored;
  bool inverse;
  // Numbers that are written, and their floats.
  int64_t written;
  int64_t written_width;
  // Factors of the numbers of a line, or null.
  const float* window;
};

// Where the lines of a group are: `lines` floats from one to the next, and `numbers` floats from
// number to number. Either the numbers of a line are adjacent, or the lines are.
struct LineStrides {
  int64_t lines;
  int64_t numbers;
};

// Transforms groups of at most FftLanes() lines.
class LineTransform {
 public:
  LineTransform(const LineFormat& format, const FftPlans& plans);

  int64_t scratch_floats() const;
  void Run(const float* from, LineStrides from_strides, int64_t count, float* to,
           LineStrides to_strides, float* scratch) const;

 private:
  void Read(const float* from, LineStrides strides, int64_t count, float* x) const;
  void Write(const float* x, LineStrides strides, int64_t count, float* to) const;
  void Scale(float* x) const;

  const LineFormat f_;
  const int64_t lanes_;
  // Pairs of real numbers are transformed as complex numbers.
  const bool pairs_;
  const std::shared_ptr<const FftPlan> plan_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_SIGNAL_LINE_TRANSFORM_H_
