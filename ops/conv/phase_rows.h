// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_PHASE_ROWS_H_
#define ATTNRUN_OPS_CONV_PHASE_ROWS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "ops/tensors/index_range.h"

namespace attnrun::ops {

// Interleaves the rows of all phases: to[i] = rows[(begin + i) % s][(begin + i) / s] for i < count,
// where s is the number of phases.
class PhaseInterleaver {
 public:
  // Precondition: 0 <= begin < phases.
  PhaseInterleaver(int64_t phases, int64_t begin, int64_t count);

  // A null row stands for `otherwise`.
  void Write(absl::Span<const float* const> rows, float otherwise, float* to) const;

 private:
  int64_t WriteVectors(absl::Span<const float* const> rows, float* to) const;

  const int64_t begin_;
  const int64_t count_;
  // The steps at which all phases are written, and for each phase those at which it is.
  IndexRange whole_;
  std::vector<IndexRange> steps_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_PHASE_ROWS_H_
