// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GENERATION_SCORES_H_
#define ATTNRUN_GENERATION_SCORES_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"

// One score per token of the vocabulary. A token that is excluded has the score -infinity.
namespace attnrun::gen {

inline constexpr float kExcluded = -std::numeric_limits<float>::infinity();

// The log of the sum of e^score, in double. -infinity if all are excluded.
double LogSumExp(absl::Span<const float> scores);

// Takes LogSumExp off the scores, which makes them log-probabilities.
void LogSoftmax(absl::Span<float> scores);

// e^score over the sum of these.
std::vector<float> Softmax(absl::Span<const float> scores);

// The first of the largest; 0 if a score is NaN.
size_t ArgMax(absl::Span<const float> scores);

// The indices of the `count` largest scores, the best first; of equal ones the first comes first.
std::vector<int64_t> Largest(absl::Span<const float> scores, size_t count);

// The tokens that are not excluded, in falling order of their scores; of equal ones the first comes
// first. At most `most` of them.
std::vector<int64_t> Ranked(absl::Span<const float> scores, size_t most);

}  // namespace attnrun::gen

#endif  // ATTNRUN_GENERATION_SCORES_H_
