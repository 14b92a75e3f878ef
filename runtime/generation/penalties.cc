// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>

#include "absl/algorithm/container.h"
#include "core/hash_map.h"
#include "generation/processor.h"
#include "generation/scores.h"

namespace attnrun::gen {
namespace {

float Penalized(float score, float penalty) {
  return score < 0 ? score * penalty : score / penalty;
}

// True if `ids` ends with all of `sequence` but its last id.
bool Precedes(absl::Span<const int64_t> ids, const TokenIds& sequence) {
  const size_t prefix = sequence.size() - 1;
  return std::equal(sequence.begin(), sequence.end() - 1, ids.end() - prefix, ids.end());
}

// Excludes the tokens that complete an n-gram of `source` after the last ids.
void ExcludeNgrams(size_t size, absl::Span<const int64_t> source, absl::Span<const int64_t> ids,
                   absl::Span<float> scores) {
  const size_t prefix = size - 1;
  if (ids.size() < prefix || source.size() < size) return;
  const absl::Span<const int64_t> last = ids.last(prefix);
  for (size_t i = 0; i + size <= source.size(); ++i) {
    if (source.subspan(i, prefix) == last) scores[source[i + prefix]] = kExcluded;
  }
}

}  // namespace

Processor BiasSequences(std::vector<std::pair<TokenIds, double>> biases) {
  return [biases = std::move(biases)](absl::Span<const int64_t> ids, absl::Span<float> scores) {
    // Like transformers, sums the biases first; the last of a repeated sequence counts.
    std::map<TokenIds, float> by_sequence;
    for (const auto& [sequence, bias] : biases) by_sequence[sequence] = static_cast<float>(bias);
    HashMap<int64_t, float> sums;
    for (const auto& [sequence, bias] : by_sequence) {
      const bool fits = sequence.size() == 1 || sequence.size() <= ids.size();
      if (fits && Precedes(ids, sequence)) sums[sequence.back()] += bias;
    }
    for (const auto& [token, bias] : sums) scores[token] += bias;
  };
}

Processor PenalizeRepetition(double penalty) {
  return [penalty = static_cast<float>(penalty)](absl::Span<const int64_t> ids,
                                                 absl::Span<float> scores) {
    const HashSet<int64_t> tokens(ids.begin(), ids.end());
    for (const int64_t token : tokens) scores[token] = Penalized(scores[token], penalty);
  };
}

Processor PreferEncoderTokens(double penalty, TokenIds encoder_ids) {
  const std::set<int64_t> tokens(encoder_ids.begin(), encoder_ids.end());
  return [penalty = static_cast<float>(1 / penalty), tokens](absl::Span<const int64_t>,
                                                             absl::Span<float> scores) {
    for (const int64_t token : tokens) scores[token] = Penalized(scores[token], penalty);
  };
}

Processor PenalizePresence(double presence, double frequency, int64_t prompt_length) {
  return [=](absl::Span<const int64_t> ids, absl::Span<float> scores) {
    HashMap<int64_t, int64_t> counts;
    for (const int64_t token : ids.subspan(prompt_length)) ++counts[token];
    for (const auto& [token, count] : counts) {
      scores[token] -= static_cast<float>(presence + frequency * static_cast<double>(count));
    }
  };
}

Processor ExcludeRepeatedNgrams(int64_t size) {
  return [size](absl::Span<const int64_t> ids, absl::Span<float> scores) {
    ExcludeNgrams(size, ids, ids, scores);
  };
}

Processor ExcludeEncoderNgrams(int64_t size, TokenIds encoder_ids) {
  return [size, encoder_ids = std::move(encoder_ids)](absl::Span<const int64_t> ids,
                                                      absl::Span<float> scores) {
    ExcludeNgrams(size, encoder_ids, ids, scores);
  };
}

}  // namespace attnrun::gen
