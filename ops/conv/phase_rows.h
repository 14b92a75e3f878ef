// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_PHASE_ROWS_H_
#define ATTNRUN_OPS_CONV_PHASE_ROWS_H_

#include <cstdint>

#include "absl/types/span.h"

namespace attnrun::ops {

// Interleaves the rows of all phases: to[i] = rows[(begin + i) % s][(begin + i) / s] for i < count,
// where s is the number of rows; a null row stands for `otherwise`.
void InterleavePhases(absl::Span<const float* const> rows, int64_t begin, int64_t count,
                      float otherwise, float* to);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_PHASE_ROWS_H_
