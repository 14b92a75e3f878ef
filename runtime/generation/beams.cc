// SPDX-License-Identifier: Apache-2.0
#include "generation/beams.h"

#include "absl/algorithm/container.h"
#include "core/status.h"
#include "generation/scores.h"

namespace attnrun::gen {

absl::StatusOr<std::vector<float>> ScoreContinuations(
    absl::Span<const BeamLogits> beams, const Processors& processors,
    absl::FunctionRef<void(absl::Span<float> scores)> change) {
  const size_t vocabulary = beams[0].logits.size();
  std::vector<float> all(beams.size() * vocabulary);
  for (size_t b = 0; b < beams.size(); ++b) {
    const absl::Span<float> scores = absl::MakeSpan(all).subspan(b * vocabulary, vocabulary);
    absl::c_copy(beams[b].logits, scores.begin());
    LogSoftmax(scores);
    change(scores);
    ATTNRUN_RETURN_IF_ERROR(processors.Apply(beams[b].ids, scores));
    for (float& score : scores) score += beams[b].score;
  }
  if (absl::c_all_of(all, [](float score) { return score == kExcluded; })) {
    return absl::InvalidArgumentError("the settings exclude every token");
  }
  return all;
}

int64_t LengthToCompare(const GenerationConfig& config, const PromptFacts& prompt, int64_t length) {
  const bool any_length =
      config.early_stopping == EarlyStopping::kNever && config.length_penalty > 0;
  return any_length ? prompt.max_length - prompt.length : length;
}

}  // namespace attnrun::gen
