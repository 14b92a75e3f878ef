// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_PHASE_ASSEMBLY_H_
#define ATTNRUN_OPS_CONV_PHASE_ASSEMBLY_H_

#include <vector>

#include "ops/conv/transposed_parts.h"

namespace attnrun::ops {

// Puts the output of a transposed convolution together from those of its parts.
class PhaseAssembly {
 public:
  explicit PhaseAssembly(const ConvShape& transposed);

  // `result` [N, M * phases, steps..], with the extents and first steps that `part` gave.
  void Add(const TransposedPart& part, const ConvShape& shape, const Shape& first_steps,
           const float* result);

  // Writes y [N, M, ..]. Phases of no part hold the bias (null: 0). An interrupted run returns
  // early and leaves y unfinished.
  void Write(const float* bias, float* y) const;

 private:
  // The output of one phase.
  struct Phase {
    // Its first image and feature, at the first step that y needs; null for none.
    const float* data = nullptr;
    int64_t feature_stride = 0;
    Shape strides;
  };

  class Rows;

  // Sets the rows of all phases along the last axis, for one image and feature.
  void FindRows(int64_t image, const Rows& walk, std::vector<const float*>& rows) const;

  const ConvShape& transposed_;
  // One per phase of every axis, row-major.
  std::vector<Phase> phases_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_PHASE_ASSEMBLY_H_
