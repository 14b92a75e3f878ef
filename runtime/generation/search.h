// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GENERATION_SEARCH_H_
#define ATTNRUN_GENERATION_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "attnrun/generation_config.h"
#include "attnrun/generator.h"
#include "generation/decoder.h"
#include "generation/processor.h"

namespace attnrun::gen {

// A prompt whose continuations are searched.
struct Prompt {
  TokenIds ids;
  PromptFacts facts;
};

// The name of prompt `number` of `count` in messages.
std::string NameOfPrompt(size_t number, size_t count);

// How a search is done. Must outlive the search.
struct SearchSettings {
  GenerationConfig config;
  int64_t top_candidates = 0;
  // Called with each token that is certain and the number of its sequence. May be empty.
  std::function<void(int64_t sequence, int64_t token)> on_token;
  // config.max_time counts from here.
  absl::Time start = absl::Now();
};

// The result of a step of a row.
struct RowLogits {
  // Behind the row's last certain id, and behind each guess.
  Logits logits;
  // Ids that the row has read behind it because they may come next.
  TokenIds guesses;
};

// A row of the next step.
struct Continuation {
  // The row of the last step that it continues.
  size_t source = 0;
  // The ids of that row that stay; the others are guesses that were wrong.
  int64_t length = 0;
  // The id to read next.
  int64_t token = 0;
};

// A search for continuations of one prompt. It starts as one row, which reads the prompt.
class Search {
 public:
  virtual ~Search() = default;

  // Chooses the next tokens. Returns the rows to go on with, none once the search is over.
  // kInvalidArgument if the prompt or a setting has an id that the vocabulary lacks, or if the
  // settings exclude every token.
  virtual absl::StatusOr<std::vector<Continuation>> Advance(absl::Span<const RowLogits> rows) = 0;

  // The tokens that it has chosen so far, in all its rows.
  virtual int64_t num_tokens() const = 0;

  // True if rows may read guesses.
  virtual bool takes_guesses() const = 0;

  // num_return_sequences sequences, once the search is over.
  virtual std::vector<GeneratedSequence> TakeSequences() = 0;
};

// Continues a prompt by the most probable tokens or by drawn ones, num_return_sequences times.
std::unique_ptr<Search> MakeRowSearch(const SearchSettings& settings, const Prompt& prompt);

// Continues a prompt by a beam search.
std::unique_ptr<Search> MakeBeamSearch(const SearchSettings& settings, const Prompt& prompt);

// Continues a prompt by a beam search in num_beam_groups groups.
std::unique_ptr<Search> MakeGroupBeamSearch(const SearchSettings& settings, const Prompt& prompt);

// A search of the kind that the settings ask for.
std::unique_ptr<Search> MakeSearch(const SearchSettings& settings, const Prompt& prompt);

// kInvalidArgument if the prompt or a setting has an id that the vocabulary lacks.
absl::Status CheckVocabulary(const GenerationConfig& config, const Prompt& prompt,
                             int64_t vocabulary);

// True if the ids end with a stop token or a stop sequence, which lies behind the prompt.
bool EndsWithStop(const GenerationConfig& config, absl::Span<const int64_t> ids, int64_t prompt);

// True if max_time is over.
bool IsTimeOver(const SearchSettings& settings);

}  // namespace attnrun::gen

#endif  // ATTNRUN_GENERATION_SEARCH_H_
