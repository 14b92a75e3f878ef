// SPDX-License-Identifier: Apache-2.0
#include "attnrun/generation_config.h"

#include <functional>
#include <map>

#include "absl/strings/str_cat.h"
#include "core/exceptions.h"
#include "core/hash_map.h"
#include "core/quote.h"
#include "core/status.h"
#include "generation/json_fields.h"

namespace attnrun {
namespace {

using gen::Json;
using Reader = std::function<absl::Status(const Json&, GenerationConfig&)>;

template <typename T>
Reader Into(T GenerationConfig::* member) {
  return [member](const Json& json, GenerationConfig& config) -> absl::Status {
    if (!json.is_null()) return gen::Read(json, config.*member);
    config.*member = GenerationConfig().*member;
    return absl::OkStatus();
  };
}

// transformers also takes a list with an id for each row of a batch.
absl::Status ReadStart(const Json& json, GenerationConfig& config) {
  if (json.is_null()) return Into(&GenerationConfig::decoder_start_token_id)(json, config);
  TokenIds ids;
  ATTNRUN_RETURN_IF_ERROR(gen::Read(json, ids));
  if (ids.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat("expected one id, but found ", ids.size()));
  }
  config.decoder_start_token_id = ids[0];
  return absl::OkStatus();
}

const std::map<std::string, Reader>& Readers() {
  using C = GenerationConfig;
  static const auto& readers = *new std::map<std::string, Reader>{
      {"max_length", Into(&C::max_length)},
      {"max_new_tokens", Into(&C::max_new_tokens)},
      {"min_length", Into(&C::min_length)},
      {"min_new_tokens", Into(&C::min_new_tokens)},
      {"max_time", Into(&C::max_time)},
      {"do_sample", Into(&C::do_sample)},
      {"num_beams", Into(&C::num_beams)},
      {"num_beam_groups", Into(&C::num_beam_groups)},
      {"diversity_penalty", Into(&C::diversity_penalty)},
      {"num_return_sequences", Into(&C::num_return_sequences)},
      {"early_stopping", Into(&C::early_stopping)},
      {"length_penalty", Into(&C::length_penalty)},
      {"temperature", Into(&C::temperature)},
      {"top_k", Into(&C::top_k)},
      {"top_p", Into(&C::top_p)},
      {"min_p", Into(&C::min_p)},
      {"typical_p", Into(&C::typical_p)},
      {"epsilon_cutoff", Into(&C::epsilon_cutoff)},
      {"eta_cutoff", Into(&C::eta_cutoff)},
      {"repetition_penalty", Into(&C::repetition_penalty)},
      {"encoder_repetition_penalty", Into(&C::encoder_repetition_penalty)},
      {"no_repeat_ngram_size", Into(&C::no_repeat_ngram_size)},
      {"encoder_no_repeat_ngram_size", Into(&C::encoder_no_repeat_ngram_size)},
      {"bad_words_ids", Into(&C::bad_words_ids)},
      {"sequence_bias", Into(&C::sequence_bias)},
      {"renormalize_logits", Into(&C::renormalize_logits)},
      {"remove_invalid_values", Into(&C::remove_invalid_values)},
      {"forced_bos_token_id", Into(&C::forced_bos_token_id)},
      {"forced_eos_token_id", Into(&C::forced_eos_token_id)},
      {"exponential_decay_length_penalty", Into(&C::exponential_decay_length_penalty)},
      {"suppress_tokens", Into(&C::suppress_tokens)},
      {"begin_suppress_tokens", Into(&C::begin_suppress_tokens)},
      {"language", Into(&C::language)},
      {"task", Into(&C::task)},
      {"lang_to_id", Into(&C::lang_to_id)},
      {"task_to_id", Into(&C::task_to_id)},
      {"forced_decoder_ids", Into(&C::forced_decoder_ids)},
      {"return_timestamps", Into(&C::return_timestamps)},
      {"no_timestamps_token_id", Into(&C::no_timestamps_token_id)},
      {"max_initial_timestamp_index", Into(&C::max_initial_timestamp_index)},
      {"pad_token_id", Into(&C::pad_token_id)},
      {"bos_token_id", Into(&C::bos_token_id)},
      {"eos_token_id", Into(&C::eos_token_id)},
      {"decoder_start_token_id", ReadStart},
      {"use_cache", Into(&C::use_cache)},
      {"prefill_chunk_size", Into(&C::prefill_chunk_size)},
      {"prompt_lookup_num_tokens", Into(&C::prompt_lookup_num_tokens)},
      {"max_matching_ngram_size", Into(&C::max_matching_ngram_size)},
      {"num_assistant_tokens", Into(&C::num_assistant_tokens)},
      {"presence_penalty", Into(&C::presence_penalty)},
      {"frequency_penalty", Into(&C::frequency_penalty)},
      {"stop_sequences", Into(&C::stop_sequences)},
      {"seed", Into(&C::seed)},
  };
  return readers;
}

// Settings of transformers that attnrun lacks, and that change tokens unless they have one of these
// values; null is never given.
bool HasNoEffect(absl::string_view name, const Json& json) {
  for (const char* lacking : {"constraints", "force_words_ids", "watermarking_config",
                              "dola_layers", "stop_strings", "top_h"}) {
    if (name == lacking) return false;
  }
  if (name == "guidance_scale") return json.Number() == 1.0;
  if (name == "penalty_alpha") return json.Number() == 0.0;
  if (name == "token_healing") return json.As<bool>() != nullptr && !*json.As<bool>();
  return true;
}

// Settings of transformers that change no token.
bool IsPassedOver(const std::string& name) {
  static const auto& names = *new HashSet<std::string>{"cache_implementation",
                                                       "cache_config",
                                                       "max_cache_len",
                                                       "return_legacy_cache",
                                                       "use_mtp",
                                                       "output_attentions",
                                                       "output_hidden_states",
                                                       "output_scores",
                                                       "output_logits",
                                                       "return_dict_in_generate",
                                                       "is_assistant",
                                                       "num_assistant_tokens_schedule",
                                                       "assistant_confidence_threshold",
                                                       "assistant_early_exit",
                                                       "assistant_lookbehind",
                                                       "target_lookbehind",
                                                       "assistant_ensemble_weight",
                                                       "speculation_type",
                                                       "compile_config",
                                                       "disable_compile",
                                                       "continuous_batching_config",
                                                       "low_memory",
                                                       "_from_model_config",
                                                       "transformers_version",
                                                       "_commit_hash",
                                                       "constraints",
                                                       "force_words_ids",
                                                       "guidance_scale",
                                                       "watermarking_config",
                                                       "dola_layers",
                                                       "penalty_alpha",
                                                       "token_healing",
                                                       "stop_strings",
                                                       "top_h",
                                                       "alignment_heads",
                                                       "is_multilingual",
                                                       "prev_sot_token_id",
                                                       "begin_index"};
  return names.contains(name);
}

}  // namespace

absl::Status gen::UpdateGenerationConfig(const Json& object, bool strict,
                                         GenerationConfig& config) {
  for (const auto& [name, value] : *object.As<Json::Object>()) {
    const auto reader = Readers().find(name);
    // A file of the folder means by null that it has no such setting, the caller that it wants
    // none.
    if (value.is_null() && (!strict || reader == Readers().end())) continue;
    if (reader != Readers().end()) {
      ATTNRUN_RETURN_IF_ERROR(Annotate(reader->second(value, config), name));
    } else if (!HasNoEffect(name, value)) {
      return absl::UnimplementedError(
          absl::StrCat(name, ": attnrun does not have this setting of transformers"));
    } else if (strict && !IsPassedOver(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no setting ", Quoted(name), " of generation"));
    }
  }
  return absl::OkStatus();
}

absl::Status UpdateGenerationConfig(absl::string_view json, bool strict, GenerationConfig& config) {
  return WithoutExceptions([&]() -> absl::Status {
    ATTNRUN_ASSIGN_OR_RETURN(const Json object, gen::ParseObject(json));
    return gen::UpdateGenerationConfig(object, strict, config);
  });
}

}  // namespace attnrun
