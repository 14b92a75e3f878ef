// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "absl/algorithm/container.h"
#include "core/status.h"
#include "generation/processor.h"
#include "generation/score_sums.h"

namespace attnrun::gen {
namespace {

// transformers passes over bad words that are the end alone.
std::vector<std::pair<TokenIds, double>> BadWords(const GenerationConfig& config) {
  std::vector<std::pair<TokenIds, double>> biases;
  for (const TokenIds& word : config.bad_words_ids) {
    if (word.size() == 1 && absl::c_linear_search(config.eos_token_id, word[0])) continue;
    biases.emplace_back(word, -std::numeric_limits<double>::infinity());
  }
  return biases;
}

void AddPenalties(const GenerationConfig& c, const PromptFacts& prompt,
                  std::vector<Processor>& rules) {
  if (!c.sequence_bias.empty()) rules.push_back(BiasSequences(c.sequence_bias));
  if (c.encoder_repetition_penalty != 1 && !prompt.encoder_ids.empty()) {
    rules.push_back(PreferEncoderTokens(c.encoder_repetition_penalty, prompt.encoder_ids));
  }
  if (c.repetition_penalty != 1) rules.push_back(PenalizeRepetition(c.repetition_penalty));
  if (c.presence_penalty != 0 || c.frequency_penalty != 0) {
    rules.push_back(PenalizePresence(c.presence_penalty, c.frequency_penalty, prompt.length));
  }
  if (c.no_repeat_ngram_size > 0) rules.push_back(ExcludeRepeatedNgrams(c.no_repeat_ngram_size));
  if (c.encoder_no_repeat_ngram_size > 0 && !prompt.encoder_ids.empty()) {
    rules.push_back(ExcludeEncoderNgrams(c.encoder_no_repeat_ngram_size, prompt.encoder_ids));
  }
  if (auto words = BadWords(c); !words.empty()) rules.push_back(BiasSequences(std::move(words)));
}

void AddRules(const GenerationConfig& c, const PromptFacts& prompt, std::vector<Processor>& rules) {
  const int64_t least =
      c.min_new_tokens.has_value() ? prompt.length + *c.min_new_tokens : c.min_length;
  if (least > 0 && !c.eos_token_id.empty()) rules.push_back(ExcludeBefore(least, c.eos_token_id));
  if (c.forced_bos_token_id.has_value()) rules.push_back(ForceAt(1, {*c.forced_bos_token_id}));
  if (!c.forced_eos_token_id.empty()) {
    rules.push_back(ForceAt(prompt.max_length - 1, c.forced_eos_token_id));
  }
  if (c.remove_invalid_values) rules.push_back(ReplaceInvalid());
  if (c.exponential_decay_length_penalty.has_value()) {
    const auto [start, factor] = *c.exponential_decay_length_penalty;
    rules.push_back(RaiseEndBeyond(prompt.length + start, factor, c.eos_token_id));
  }
  if (!c.suppress_tokens.empty()) rules.push_back(Exclude(c.suppress_tokens));
  if (!c.begin_suppress_tokens.empty()) {
    const bool first_is_forced = prompt.length == 1 && c.forced_bos_token_id.has_value();
    rules.push_back(ExcludeAt(prompt.length + (first_is_forced ? 1 : 0), c.begin_suppress_tokens));
  }
  if (c.return_timestamps) rules.push_back(OrderTimestamps(c, prompt.length));
}

void AddFilters(const GenerationConfig& c, std::vector<Processor>& filters) {
  // A beam search needs a token that does not end the sequence.
  const size_t keep = c.num_beams > 1 ? std::max<size_t>(2, c.eos_token_id.size() + 1) : 1;
  if (c.temperature != 1) filters.push_back(DivideByTemperature(c.temperature));
  if (c.top_k > 0) filters.push_back(KeepTopK(c.top_k, keep));
  if (c.top_p < 1) filters.push_back(KeepTopP(c.top_p, keep));
  if (c.min_p.has_value()) filters.push_back(KeepMinP(*c.min_p, keep));
  if (c.typical_p < 1) filters.push_back(KeepTypical(c.typical_p, keep));
  if (c.epsilon_cutoff > 0 && c.epsilon_cutoff < 1) {
    filters.push_back(KeepAboveEpsilon(c.epsilon_cutoff, keep));
  }
  if (c.eta_cutoff > 0 && c.eta_cutoff < 1) filters.push_back(KeepAboveEta(c.eta_cutoff, keep));
}

}  // namespace

Processors::Processors(const GenerationConfig& config, const PromptFacts& prompt) {
  AddPenalties(config, prompt, rules_);
  AddRules(config, prompt, rules_);
  if (config.do_sample) AddFilters(config, filters_);
  if (config.renormalize_logits) filters_.push_back(Normalize());
}

absl::Status CheckScores(absl::Span<const float> scores) {
  if (!std::isnan(LargestScore(scores))) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "a score of the next token is NaN: the model's logits are no numbers");
}

absl::Status Processors::Apply(absl::Span<const int64_t> ids, absl::Span<float> scores) const {
  for (const Processor& rule : rules_) rule(ids, scores);
  // Filters sort, and NaN has no place in an order.
  ATTNRUN_RETURN_IF_ERROR(CheckScores(scores));
  for (const Processor& filter : filters_) filter(ids, scores);
  return absl::OkStatus();
}

}  // namespace attnrun::gen
