// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GENERATION_PROCESSOR_H_
#define ATTNRUN_GENERATION_PROCESSOR_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "attnrun/generation_config.h"

namespace attnrun::gen {

// Changes the scores of the token that follows `ids`, the prompt and the tokens so far.
using Processor = std::function<void(absl::Span<const int64_t> ids, absl::Span<float> scores)>;

// A prompt, as far as processors depend on it.
struct PromptFacts {
  // The ids of the decoder's prompt.
  int64_t length = 0;
  // The most ids, the prompt among them.
  int64_t max_length = 0;
  // Empty for a decoder alone.
  TokenIds encoder_ids;
};

// kInvalidArgument if a score is NaN.
absl::Status CheckScores(absl::Span<const float> scores);

// The processors of a prompt, in the order of transformers: first the rules, then, where tokens are
// drawn, the filters.
class Processors {
 public:
  Processors(const GenerationConfig& config, const PromptFacts& prompt);

  // kInvalidArgument if a score is NaN.
  absl::Status Apply(absl::Span<const int64_t> ids, absl::Span<float> scores) const;

  // True if Apply changes nothing.
  bool empty() const { return rules_.empty() && filters_.empty(); }

 private:
  std::vector<Processor> rules_;
  std::vector<Processor> filters_;
};

// penalties.cc: processors that depend on the tokens so far.
Processor BiasSequences(std::vector<std::pair<TokenIds, double>> biases);
// Divides positive scores of the tokens so far by `penalty`, and multiplies negative ones.
Processor PenalizeRepetition(double penalty);
// The same for the tokens of the encoder, with 1 / penalty.
Processor PreferEncoderTokens(double penalty, TokenIds encoder_ids);
Processor PenalizePresence(double presence, double frequency, int64_t prompt_length);
Processor ExcludeRepeatedNgrams(int64_t size);
Processor ExcludeEncoderNgrams(int64_t size, TokenIds encoder_ids);

// rules.cc: processors that depend on the position.
Processor ExcludeBefore(int64_t length, TokenIds tokens);
Processor ExcludeAt(int64_t length, TokenIds tokens);
Processor Exclude(TokenIds tokens);
// Leaves only these tokens where the next is at `position`.
Processor ForceAt(int64_t position, TokenIds tokens);
Processor ReplaceInvalid();
Processor RaiseEndBeyond(int64_t length, double factor, TokenIds end);
Processor Normalize();

// timestamps.cc: Whisper's order of timestamps.
Processor OrderTimestamps(const GenerationConfig& config, int64_t prompt_length);

// filters.cc: processors that exclude improbable tokens. At least `keep` tokens stay.
Processor DivideByTemperature(double temperature);
Processor KeepTopK(int64_t k, size_t keep);
Processor KeepTopP(double p, size_t keep);
Processor KeepMinP(double p, size_t keep);
Processor KeepTypical(double mass, size_t keep);
Processor KeepAboveEpsilon(double epsilon, size_t keep);
Processor KeepAboveEta(double epsilon, size_t keep);

}  // namespace attnrun::gen

#endif  // ATTNRUN_GENERATION_PROCESSOR_H_
