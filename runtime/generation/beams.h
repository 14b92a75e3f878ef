// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GENERATION_BEAMS_H_
#define ATTNRUN_GENERATION_BEAMS_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/generation_config.h"
#include "generation/processor.h"

// The parts that beam searches share.
namespace attnrun::gen {

// Worse than any sum of log-probabilities, and far from the end of the numbers.
inline constexpr float kWorst = -1e9F;

// A beam, and the logits of its next token.
struct BeamLogits {
  absl::Span<const int64_t> ids;
  float score = kWorst;
  absl::Span<const float> logits;
};

// The scores of all continuations of all beams, beam by beam. `change` is called with the
// log-probabilities of each beam before the processors. kInvalidArgument if the settings exclude
// every token.
absl::StatusOr<std::vector<float>> ScoreContinuations(
    absl::Span<const BeamLogits> beams, const Processors& processors,
    absl::FunctionRef<void(absl::Span<float> scores)> change);

// The length by which a running beam's score is divided when it is compared with finished ones:
// `length`, the new tokens so far, or the most that are allowed, as config.early_stopping says.
int64_t LengthToCompare(const GenerationConfig& config, const PromptFacts& prompt, int64_t length);

}  // namespace attnrun::gen

#endif  // ATTNRUN_GENERATION_BEAMS_H_
