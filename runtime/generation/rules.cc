// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "absl/algorithm/container.h"
#include "generation/processor.h"
#include "generation/scores.h"

namespace attnrun::gen {
namespace {

// transformers compares the vocabulary with its lists, so ids beyond it do no harm.
bool IsIn(absl::Span<const float> scores, int64_t token) {
  return token >= 0 && token < static_cast<int64_t>(scores.size());
}

void ExcludeTokens(const TokenIds& tokens, absl::Span<float> scores) {
  for (const int64_t token : tokens) {
    if (IsIn(scores, token)) scores[token] = kExcluded;
  }
}

}  // namespace

Processor ExcludeBefore(int64_t length, TokenIds tokens) {
  return [length, tokens = std::move(tokens)](absl::Span<const int64_t> ids,
                                              absl::Span<float> scores) {
    if (static_cast<int64_t>(ids.size()) < length) ExcludeTokens(tokens, scores);
  };
}

Processor ExcludeAt(int64_t length, TokenIds tokens) {
  return [length, tokens = std::move(tokens)](absl::Span<const int64_t> ids,
                                              absl::Span<float> scores) {
    if (static_cast<int64_t>(ids.size()) == length) ExcludeTokens(tokens, scores);
  };
}

Processor Exclude(TokenIds tokens) {
  return [tokens = std::move(tokens)](absl::Span<const int64_t>, absl::Span<float> scores) {
    ExcludeTokens(tokens, scores);
  };
}

Processor ForceAt(int64_t position, TokenIds tokens) {
  return [position, tokens = std::move(tokens)](absl::Span<const int64_t> ids,
                                                absl::Span<float> scores) {
    if (static_cast<int64_t>(ids.size()) != position) return;
    absl::c_fill(scores, kExcluded);
    for (const int64_t token : tokens) scores[token] = 0;
  };
}

Processor ReplaceInvalid() {
  return [](absl::Span<const int64_t>, absl::Span<float> scores) {
    constexpr float kLargest = std::numeric_limits<float>::max();
    for (float& score : scores) {
      if (std::isnan(score)) score = 0;
      if (std::isinf(score)) score = std::copysign(kLargest, score);
    }
  };
}

Processor RaiseEndBeyond(int64_t length, double factor, TokenIds end) {
  return [length, factor, end = std::move(end)](absl::Span<const int64_t> ids,
                                                absl::Span<float> scores) {
    const int64_t beyond = static_cast<int64_t>(ids.size()) - length;
    if (beyond <= 0) return;
    const auto rise = static_cast<float>(std::pow(factor, beyond) - 1);
    for (const int64_t token : end) {
      if (!IsIn(scores, token) || scores[token] == kExcluded) continue;
      scores[token] += std::abs(scores[token]) * rise;
    }
  };
}

Processor Normalize() {
  return [](absl::Span<const int64_t>, absl::Span<float> scores) { LogSoftmax(scores); };
}

}  // namespace attnrun::gen
