// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GENERATION_SCORE_SUMS_H_
#define ATTNRUN_GENERATION_SCORE_SUMS_H_

#include "absl/types/span.h"

// Reductions of the scores of a whole vocabulary, which every step needs, in vectors.
namespace attnrun::gen {

// NaN if any score is; -infinity if there is none.
float LargestScore(absl::Span<const float> scores);

// The sum of e^(score - largest), where no score is larger. Terms are within 1 ulp, and added in
// double. NaN if any score is.
double SumOfExponentials(absl::Span<const float> scores, float largest);

}  // namespace attnrun::gen

#endif  // ATTNRUN_GENERATION_SCORE_SUMS_H_
