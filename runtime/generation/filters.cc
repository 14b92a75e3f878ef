// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/algorithm/container.h"
#include "generation/processor.h"
#include "generation/scores.h"

namespace attnrun::gen {
namespace {

// Excludes the tokens for which remove(i) is true, except for the `keep` tokens of the best scores.
template <typename Remove>
void ExcludeIf(absl::Span<float> scores, size_t keep, Remove remove) {
  const std::vector<int64_t> best = Ranked(scores, keep);
  for (size_t i = 0; i < scores.size(); ++i) {
    if (remove(i) && !absl::c_linear_search(best, static_cast<int64_t>(i))) scores[i] = kExcluded;
  }
}

double Entropy(absl::Span<const float> log_probabilities) {
  double entropy = 0;
  for (const float value : log_probabilities) {
    if (value != kExcluded) entropy -= value * std::exp(static_cast<double>(value));
  }
  return entropy;
}

}  // namespace

Processor DivideByTemperature(double temperature) {
  return [temperature = static_cast<float>(temperature)](absl::Span<const int64_t>,
                                                         absl::Span<float> scores) {
    // Infinite scores would have no differences.
    constexpr float kLargest = std::numeric_limits<float>::max();
    for (float& score : scores) {
      if (score != kExcluded) score = std::clamp(score / temperature, -kLargest, kLargest);
    }
  };
}

Processor KeepTopK(int64_t k, size_t keep) {
  const size_t most = std::max(static_cast<size_t>(k), keep);
  return [most](absl::Span<const int64_t>, absl::Span<float> scores) {
    if (most >= scores.size()) return;
    std::vector<float> sorted(scores.begin(), scores.end());
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(most - 1),
                     sorted.end(), std::greater<>());
    const float least = sorted[most - 1];
    // Tokens as good as the k-th stay, too.
    for (float& score : scores) {
      if (score < least) score = kExcluded;
    }
  };
}

Processor KeepTopP(double p, size_t keep) {
  return [p, keep](absl::Span<const int64_t>, absl::Span<float> scores) {
    const std::vector<float> probabilities = Softmax(scores);
    const std::vector<int64_t> ranked = Ranked(scores, scores.size());
    // The least probable tokens go, as long as their probabilities sum to at most 1 - p.
    double sum = 0;
    for (size_t left = ranked.size(); left > keep; --left) {
      sum += probabilities[ranked[left - 1]];
      if (static_cast<float>(sum) > static_cast<float>(1 - p)) break;
      scores[ranked[left - 1]] = kExcluded;
    }
  };
}

Processor KeepMinP(double p, size_t keep) {
  return [p, keep](absl::Span<const int64_t>, absl::Span<float> scores) {
    const std::vector<float> probabilities = Softmax(scores);
    const float least = static_cast<float>(p) * *absl::c_max_element(probabilities);
    ExcludeIf(scores, keep, [&](size_t i) { return probabilities[i] < least; });
  };
}

Processor KeepTypical(double mass, size_t keep) {
  return [mass, keep](absl::Span<const int64_t>, absl::Span<float> scores) {
    std::vector<float> surprise(scores.begin(), scores.end());
    LogSoftmax(absl::MakeSpan(surprise));
    const double entropy = Entropy(surprise);
    const std::vector<float> probabilities = Softmax(scores);
    // Ranked takes the largest first, so the distance to the entropy is negative here.
    for (float& value : surprise) {
      value = -std::abs(-value - static_cast<float>(entropy));
    }
    const std::vector<int64_t> ranked = Ranked(surprise, surprise.size());
    double sum = 0;
    size_t last = 0;
    for (; last < ranked.size(); ++last) {
      sum += probabilities[ranked[last]];
      if (static_cast<float>(sum) >= static_cast<float>(mass)) break;
    }
    if (last >= ranked.size()) return;
    const float least = surprise[ranked[last]];
    for (size_t i = 0; i < scores.size(); ++i) {
      const auto best = ranked.begin() + static_cast<std::ptrdiff_t>(std::min(keep, ranked.size()));
      const bool kept = std::find(ranked.begin(), best, static_cast<int64_t>(i)) != best;
      if (surprise[i] < least && !kept) scores[i] = kExcluded;
    }
  };
}

Processor KeepAboveEpsilon(double epsilon, size_t keep) {
  return [epsilon, keep](absl::Span<const int64_t>, absl::Span<float> scores) {
    const std::vector<float> probabilities = Softmax(scores);
    ExcludeIf(scores, keep,
              [&](size_t i) { return probabilities[i] < static_cast<float>(epsilon); });
  };
}

Processor KeepAboveEta(double epsilon, size_t keep) {
  return [epsilon, keep](absl::Span<const int64_t>, absl::Span<float> scores) {
    std::vector<float> logs(scores.begin(), scores.end());
    LogSoftmax(absl::MakeSpan(logs));
    const double eta = std::min(epsilon, std::sqrt(epsilon) * std::exp(-Entropy(logs)));
    ExcludeIf(scores, keep, [&](size_t i) { return std::exp(logs[i]) < static_cast<float>(eta); });
  };
}

}  // namespace attnrun::gen
