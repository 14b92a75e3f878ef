// SPDX-License-Identifier: Apache-2.0
#include "generation/scores.h"

#include <algorithm>
#include <cmath>

#include "absl/algorithm/container.h"

namespace attnrun::gen {

double LogSumExp(absl::Span<const float> scores) {
  const float largest = *absl::c_max_element(scores);
  if (std::isinf(largest)) return largest;
  double sum = 0;
  for (const float score : scores) sum += std::exp(score - largest);
  return largest + std::log(sum);
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
  return absl::c_max_element(scores) - scores.begin();
}

std::vector<int64_t> Ranked(absl::Span<const float> scores, size_t most) {
  std::vector<int64_t> ids;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] != kExcluded) ids.push_back(static_cast<int64_t>(i));
  }
  const auto before = [&](int64_t a, int64_t b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  };
  most = std::min(most, ids.size());
  const auto end = ids.begin() + static_cast<std::ptrdiff_t>(most);
  std::partial_sort(ids.begin(), end, ids.end(), before);
  ids.resize(most);
  return ids;
}

}  // namespace attnrun::gen
