// SPDX-License-Identifier: Apache-2.0
#include "generation/scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/algorithm/container.h"
#include "generation/score_sums.h"

namespace attnrun::gen {

double LogSumExp(absl::Span<const float> scores) {
  const float largest = LargestScore(scores);
  if (std::isinf(largest)) return largest;
  return largest + std::log(SumOfExponentials(scores, largest));
}

void LogSoftmax(absl::Span<float> scores) {
  const double total = LogSumExp(scores);
  if (std::isinf(total)) return;
  for (float& score : scores) score = static_cast<float>(score - total);
}

std::vector<float> Softmax(absl::Span<const float> scores) {
  std::vector<float> probabilities(scores.begin(), scores.end());
  LogSoftmax(absl::MakeSpan(probabilities));
  for (float& value : probabilities) value = std::exp(value);
  return probabilities;
}

size_t ArgMax(absl::Span<const float> scores) {
  const auto found = absl::c_find(scores, LargestScore(scores));
  // NaN equals nothing.
  return found == scores.end() ? 0 : found - scores.begin();
}

std::vector<int64_t> Largest(absl::Span<const float> scores, size_t count) {
  std::vector<int64_t> indices(scores.size());
  std::iota(indices.begin(), indices.end(), int64_t{0});
  const auto before = [&](int64_t a, int64_t b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  };
  const auto end = indices.begin() + static_cast<std::ptrdiff_t>(std::min(count, indices.size()));
  std::partial_sort(indices.begin(), end, indices.end(), before);
  indices.erase(end, indices.end());
  return indices;
}

std::vector<int64_t> Ranked(absl::Span<const float> scores, size_t most) {
  std::vector<int64_t> ids = Largest(scores, most);
  while (!ids.empty() && scores[ids.back()] == kExcluded) ids.pop_back();
  return ids;
}

}  // namespace attnrun::gen
