// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/probabilities_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attnrun::ops {

double AsHeld(DataType type, double score) {
  return type == DataType::kDouble ? score : static_cast<float>(score);
}

std::vector<double> Probabilities(const std::vector<double>& scores, double masked_row) {
  std::vector<double> result(scores.size(), masked_row);
  if (scores.empty()) return result;
  const double peak = *std::max_element(scores.begin(), scores.end());
  constexpr double kMasked = -std::numeric_limits<double>::infinity();
  const bool all_masked =
      std::all_of(scores.begin(), scores.end(), [](double x) { return x == kMasked; });
  if (all_masked) return result;
  double sum = 0;
  for (size_t i = 0; i < scores.size(); ++i) sum += result[i] = std::exp(scores[i] - peak);
  for (double& value : result) value /= sum;
  return result;
}

}  // namespace attnrun::ops
