// SPDX-License-Identifier: Apache-2.0
#include "attnrun/generation_config.h"

#include <cmath>
#include <functional>
#include <limits>
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

absl::Status CheckRange(bool good, absl::string_view name, absl::string_view expected,
                        double found) {
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": expected ", expected, ", but found ", found));
}

absl::Status CheckLengths(const GenerationConfig& c) {
  constexpr int64_t kMost = int64_t{1} << 40;
  const auto at_least = [](int64_t least, int64_t value, absl::string_view name) {
    return CheckRange(value >= least && value <= kMost, name,
                      absl::StrCat("a number from ", least, " to 2^40"),
                      static_cast<double>(value));
  };
  ATTNRUN_RETURN_IF_ERROR(at_least(1, c.max_new_tokens.value_or(1), "max_new_tokens"));
  ATTNRUN_RETURN_IF_ERROR(at_least(1, c.max_length.value_or(1), "max_length"));
  ATTNRUN_RETURN_IF_ERROR(at_least(0, c.min_length, "min_length"));
  ATTNRUN_RETURN_IF_ERROR(at_least(0, c.min_new_tokens.value_or(0), "min_new_tokens"));
  ATTNRUN_RETURN_IF_ERROR(at_least(0, c.top_k, "top_k"));
  ATTNRUN_RETURN_IF_ERROR(at_least(0, c.no_repeat_ngram_size, "no_repeat_ngram_size"));
  ATTNRUN_RETURN_IF_ERROR(
      at_least(0, c.encoder_no_repeat_ngram_size, "encoder_no_repeat_ngram_size"));
  ATTNRUN_RETURN_IF_ERROR(at_least(0, c.prefill_chunk_size, "prefill_chunk_size"));
  ATTNRUN_RETURN_IF_ERROR(
      at_least(1, c.prompt_lookup_num_tokens.value_or(1), "prompt_lookup_num_tokens"));
  ATTNRUN_RETURN_IF_ERROR(at_least(1, c.max_matching_ngram_size, "max_matching_ngram_size"));
  ATTNRUN_RETURN_IF_ERROR(at_least(0, c.num_assistant_tokens, "num_assistant_tokens"));
  const int64_t least = c.min_new_tokens.value_or(0);
  if (c.max_new_tokens.has_value() && least > *c.max_new_tokens) {
    return absl::InvalidArgumentError(
        absl::StrCat("min_new_tokens is ", least, ", but max_new_tokens is ", *c.max_new_tokens));
  }
  if (c.max_length.has_value() && c.min_length > *c.max_length) {
    return absl::InvalidArgumentError(
        absl::StrCat("min_length is ", c.min_length, ", but max_length is ", *c.max_length));
  }
  return absl::OkStatus();
}

absl::Status CheckNumbers(const GenerationConfig& c) {
  const auto positive = [](double value, absl::string_view name) {
    return CheckRange(value > 0 && std::isfinite(value), name, "a number above 0", value);
  };
  const auto share = [](double value, absl::string_view name) {
    return CheckRange(value >= 0 && value <= 1, name, "a number from 0 to 1", value);
  };
  const auto finite = [](double value, absl::string_view name) {
    return CheckRange(std::isfinite(value), name, "a finite number", value);
  };
  if (c.do_sample) {
    if (c.temperature == 0) {
      return absl::InvalidArgumentError(
          "temperature: expected a number above 0, but found 0; leave do_sample out for the most "
          "probable tokens");
    }
    // Scores are divided in single precision, where others are 0 or infinite.
    using Float = std::numeric_limits<float>;
    ATTNRUN_RETURN_IF_ERROR(
        CheckRange(c.temperature >= Float::min() && c.temperature <= Float::max(), "temperature",
                   "a number from 1.2e-38 to 3.4e38", c.temperature));
  }
  ATTNRUN_RETURN_IF_ERROR(share(c.top_p, "top_p"));
  ATTNRUN_RETURN_IF_ERROR(share(c.min_p.value_or(0), "min_p"));
  ATTNRUN_RETURN_IF_ERROR(CheckRange(c.typical_p > 0 && c.typical_p <= 1, "typical_p",
                                     "a number above 0, at most 1", c.typical_p));
  ATTNRUN_RETURN_IF_ERROR(share(c.epsilon_cutoff, "epsilon_cutoff"));
  ATTNRUN_RETURN_IF_ERROR(share(c.eta_cutoff, "eta_cutoff"));
  ATTNRUN_RETURN_IF_ERROR(positive(c.repetition_penalty, "repetition_penalty"));
  ATTNRUN_RETURN_IF_ERROR(positive(c.encoder_repetition_penalty, "encoder_repetition_penalty"));
  ATTNRUN_RETURN_IF_ERROR(finite(c.presence_penalty, "presence_penalty"));
  ATTNRUN_RETURN_IF_ERROR(finite(c.frequency_penalty, "frequency_penalty"));
  ATTNRUN_RETURN_IF_ERROR(finite(c.length_penalty, "length_penalty"));
  ATTNRUN_RETURN_IF_ERROR(finite(c.diversity_penalty, "diversity_penalty"));
  return positive(c.max_time.value_or(1), "max_time");
}

absl::Status CheckBeams(const GenerationConfig& c) {
  constexpr int64_t kMost = 1024;
  const auto count = [](int64_t value, absl::string_view name) {
    return CheckRange(value >= 1 && value <= kMost, name,
                      absl::StrCat("a number from 1 to ", kMost), static_cast<double>(value));
  };
  ATTNRUN_RETURN_IF_ERROR(count(c.num_beams, "num_beams"));
  ATTNRUN_RETURN_IF_ERROR(count(c.num_return_sequences, "num_return_sequences"));
  ATTNRUN_RETURN_IF_ERROR(count(c.num_beam_groups, "num_beam_groups"));
  if (c.num_beams == 1 && c.num_return_sequences > 1 && !c.do_sample) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_return_sequences is ", c.num_return_sequences,
                     ", but there is one most probable sequence without do_sample or num_beams"));
  }
  if (c.num_beams > 1 && c.num_return_sequences > c.num_beams) {
    return absl::InvalidArgumentError(absl::StrCat(
        "num_return_sequences is ", c.num_return_sequences, ", but num_beams is ", c.num_beams));
  }
  if (c.num_beams % c.num_beam_groups != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "num_beams is ", c.num_beams, ", no multiple of num_beam_groups, ", c.num_beam_groups));
  }
  if (c.num_beam_groups > 1 && c.do_sample) {
    return absl::InvalidArgumentError("num_beam_groups: expected no do_sample beside it");
  }
  if (c.num_beam_groups > 1 && c.diversity_penalty <= 0) {
    return absl::InvalidArgumentError(
        "num_beam_groups needs a diversity_penalty above 0, as the groups would all be alike");
  }
  return absl::OkStatus();
}

absl::Status CheckIds(const GenerationConfig& c) {
  for (const std::vector<TokenIds>* lists : {&c.bad_words_ids, &c.stop_sequences}) {
    for (const TokenIds& ids : *lists) {
      if (ids.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat(lists == &c.stop_sequences ? "stop_sequences" : "bad_words_ids",
                         ": expected lists of at least one id, but one is empty"));
      }
    }
  }
  for (const auto& [ids, bias] : c.sequence_bias) {
    if (ids.empty() || std::isnan(bias)) {
      return absl::InvalidArgumentError(
          "sequence_bias: expected at least one id and a number for each");
    }
  }
  for (size_t i = 0; i < c.forced_decoder_ids.size(); ++i) {
    if (c.forced_decoder_ids[i].first != static_cast<int64_t>(i) + 1) {
      return absl::InvalidArgumentError("forced_decoder_ids: expected the positions 1, 2, ...");
    }
  }
  if (c.return_timestamps && !c.no_timestamps_token_id.has_value()) {
    return absl::InvalidArgumentError("return_timestamps needs no_timestamps_token_id");
  }
  ATTNRUN_RETURN_IF_ERROR(CheckRange(c.no_timestamps_token_id.value_or(0) >= 0,
                                     "no_timestamps_token_id", "an id of at least 0",
                                     static_cast<double>(c.no_timestamps_token_id.value_or(0))));
  return absl::OkStatus();
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

absl::Status CheckGenerationConfig(const GenerationConfig& config) {
  return WithoutExceptions([&]() -> absl::Status {
    ATTNRUN_RETURN_IF_ERROR(CheckLengths(config));
    ATTNRUN_RETURN_IF_ERROR(CheckNumbers(config));
    ATTNRUN_RETURN_IF_ERROR(CheckBeams(config));
    return CheckIds(config);
  });
}

}  // namespace attnrun
