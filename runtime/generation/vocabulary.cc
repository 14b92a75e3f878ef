// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "generation/search.h"

namespace attnrun::gen {
namespace {

absl::Status CheckIds(absl::string_view where, absl::Span<const int64_t> ids, int64_t vocabulary) {
  for (const int64_t id : ids) {
    if (id >= 0 && id < vocabulary) continue;
    return absl::InvalidArgumentError(absl::StrCat(where, ": expected ids from 0 to ",
                                                   vocabulary - 1,
                                                   ", the model's vocabulary, but "
                                                   "found ",
                                                   id));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckVocabulary(const GenerationConfig& config, const Prompt& prompt,
                             int64_t vocabulary) {
  const auto check = [&](absl::string_view where, absl::Span<const int64_t> ids) {
    return CheckIds(where, ids, vocabulary);
  };
  ATTNRUN_RETURN_IF_ERROR(check("prompt", prompt.ids));
  const bool uses_encoder_ids =
      config.encoder_repetition_penalty != 1 || config.encoder_no_repeat_ngram_size > 0;
  if (uses_encoder_ids) {
    ATTNRUN_RETURN_IF_ERROR(check("the encoder's text", prompt.facts.encoder_ids));
  }
  for (const TokenIds& word : config.bad_words_ids) {
    ATTNRUN_RETURN_IF_ERROR(check("bad_words_ids", word));
  }
  for (const auto& [ids, bias] : config.sequence_bias) {
    ATTNRUN_RETURN_IF_ERROR(check("sequence_bias", ids));
  }
  if (config.forced_bos_token_id.has_value()) {
    ATTNRUN_RETURN_IF_ERROR(check("forced_bos_token_id", {*config.forced_bos_token_id}));
  }
  // Ids of eos_token_id may be beyond it, as -1: no sequence ends by them.
  return check("forced_eos_token_id", config.forced_eos_token_id);
}

}  // namespace attnrun::gen
