// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GENERATION_CONFIG_H_
#define ATTNRUN_GENERATION_CONFIG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "attnrun/export.h"

namespace attnrun {

using TokenIds = std::vector<int64_t>;

// When a beam search stops that has num_beams finished sequences.
enum class EarlyStopping : uint8_t {
  // Once no running beam of the length reached so far can beat the worst finished one.
  kHeuristic,  // false
  // At once.
  kAtOnce,  // true
  // Once no running beam of any length can.
  kNever,  // "never"
};

// How tokens are chosen: the settings of transformers' GenerationConfig that change tokens, under
// their names and with their defaults and effects, and some more at the end. Lengths count the
// prompt unless their name says "new".
struct GenerationConfig {
  // Without either, 20 new tokens. max_new_tokens takes precedence.
  std::optional<int64_t> max_length;
  std::optional<int64_t> max_new_tokens;
  // min_new_tokens takes precedence.
  int64_t min_length = 0;
  std::optional<int64_t> min_new_tokens;
  // In seconds.
  std::optional<double> max_time;

  bool do_sample = false;
  int64_t num_beams = 1;
  int64_t num_beam_groups = 1;
  double diversity_penalty = 0;
  int64_t num_return_sequences = 1;
  EarlyStopping early_stopping = EarlyStopping::kHeuristic;
  double length_penalty = 1;

  double temperature = 1;
  // 0: all.
  int64_t top_k = 50;
  double top_p = 1;
  std::optional<double> min_p;
  double typical_p = 1;
  double epsilon_cutoff = 0;
  double eta_cutoff = 0;

  double repetition_penalty = 1;
  double encoder_repetition_penalty = 1;
  int64_t no_repeat_ngram_size = 0;
  int64_t encoder_no_repeat_ngram_size = 0;
  std::vector<TokenIds> bad_words_ids;
  std::vector<std::pair<TokenIds, double>> sequence_bias;
  bool renormalize_logits = false;
  bool remove_invalid_values = false;
  std::optional<int64_t> forced_bos_token_id;
  TokenIds forced_eos_token_id;
  std::optional<std::pair<int64_t, double>> exponential_decay_length_penalty;
  TokenIds suppress_tokens;
  TokenIds begin_suppress_tokens;
  // Whisper: the language as "<|de|>", "de" or "german", and "transcribe" or "translate", with
  // their ids. A model that has lang_to_id finds the language where none is given.
  std::optional<std::string> language;
  std::optional<std::string> task;
  std::map<std::string, int64_t> lang_to_id;
  std::map<std::string, int64_t> task_to_id;
  // The tokens at these positions after the decoder's start token. They may leave the language of
  // Whisper open, and do not count beside `language` and `task`.
  std::vector<std::pair<int64_t, std::optional<int64_t>>> forced_decoder_ids;
  bool return_timestamps = false;
  std::optional<int64_t> no_timestamps_token_id;
  std::optional<int64_t> max_initial_timestamp_index;

  std::optional<int64_t> pad_token_id;
  std::optional<int64_t> bos_token_id;
  TokenIds eos_token_id;
  std::optional<int64_t> decoder_start_token_id;
  bool use_cache = true;
  // Tokens of the prompt that are read at once; 0: all.
  int64_t prefill_chunk_size = 0;
  // Guesses up to so many next tokens, those that followed the last max_matching_ngram_size ids (or
  // fewer) earlier in the sequence. The tokens stay the same.
  std::optional<int64_t> prompt_lookup_num_tokens;
  int64_t max_matching_ngram_size = 2;
  // The most tokens that a draft model guesses at once; 0: none.
  int64_t num_assistant_tokens = 20;

  // Unknown to transformers.
  // Taken off the score of each token that was generated, once or as often as it was.
  double presence_penalty = 0;
  double frequency_penalty = 0;
  // A sequence also stops after any of these.
  std::vector<TokenIds> stop_sequences;
  uint64_t seed = 0;
};

// Sets what a JSON object has. Names that transformers does not know are an error if `strict`, and
// passed over otherwise; null leaves a setting as it is. kInvalidArgument for text that is no JSON
// object and for a value of the wrong type; kUnimplemented for a setting that changes tokens and
// that attnrun lacks.
ATTNRUN_EXPORT absl::Status UpdateGenerationConfig(absl::string_view json, bool strict,
                                                   GenerationConfig& config);

// kInvalidArgument for a value out of its range and for settings that contradict each other.
ATTNRUN_EXPORT absl::Status CheckGenerationConfig(const GenerationConfig& config);

}  // namespace attnrun

#endif  // ATTNRUN_GENERATION_CONFIG_H_
