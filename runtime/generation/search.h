// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GENERATION_SEARCH_H_
#define ATTNRUN_GENERATION_SEARCH_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attnrun/generation_config.h"
#include "attnrun/generator.h"
#include "generation/decoder.h"
#include "generation/processor.h"

namespace attnrun::gen {

// A prompt whose continuations are searched.
struct Prompt {
  TokenIds ids;
  PromptFacts facts;
  // The place of its first sequence in the result.
  size_t place = 0;
};

// Time and number of the tokens that a search has read and made.
struct Meter {
  absl::Time start;
  absl::Duration first_token = absl::InfiniteDuration();
  absl::Duration prompt_time;
  absl::Duration decode_time;
  int64_t prompt_tokens = 0;
  int64_t decode_tokens = 0;
};

// The parts of a search that all prompts share.
struct SearchContext {
  const GenerationConfig& config;
  const GenerateOptions& options;
  RunOptions run;
  Meter& meter;
};

// Reads the prompts in pieces of prefill_chunk_size. Adds to the meter.
absl::StatusOr<Logits> ReadPrompts(Decoder& decoder, absl::Span<const TokenIds> prompts,
                                   SearchContext& context);

// kInvalidArgument if the prompt or a setting has an id that the vocabulary lacks.
absl::Status CheckVocabulary(const GenerationConfig& config, const Prompt& prompt,
                             int64_t vocabulary);

// Reads one more token of each row. Adds to the meter.
absl::StatusOr<Logits> ReadNext(Decoder& decoder, const TokenIds& tokens, SearchContext& context);

// True if the ids end with a stop token or a stop sequence, which lies behind the prompt.
bool EndsWithStop(const GenerationConfig& config, absl::Span<const int64_t> ids, int64_t prompt);

// True if max_time is over.
bool IsTimeOver(const SearchContext& context);

// Continues the prompts by the most probable tokens or drawn ones, num_return_sequences of each. Sets sequences[place...] of each prompt.
absl::Status SearchRows(Decoder& decoder, const std::vector<Prompt>& prompts,
                        SearchContext& context, std::vector<GeneratedSequence>& sequences);

// Continues a prompt by a beam search. Sets sequences[place...].
absl::Status SearchBeams(Decoder& decoder, const Prompt& prompt, SearchContext& context,
                         std::vector<GeneratedSequence>& sequences);

}  // namespace attnrun::gen

#endif  // ATTNRUN_GENERATION_SEARCH_H_
