// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "attnrun/generation_config.h"
#include "core/exceptions.h"
#include "core/status.h"

namespace attnrun {
namespace {

// Sums of a few lengths stay far from the largest int64_t.
constexpr int64_t kLongest = int64_t{1} << 40;

absl::Status CheckRange(bool good, absl::string_view name, absl::string_view expected,
                        double found) {
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": expected ", expected, ", but found ", found));
}

absl::Status CheckLengths(const GenerationConfig& c) {
  const auto at_least = [](int64_t least, int64_t value, absl::string_view name) {
    return CheckRange(value >= least && value <= kLongest, name,
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
  ATTNRUN_RETURN_IF_ERROR(
      at_least(0, c.no_timestamps_token_id.value_or(0), "no_timestamps_token_id"));
  ATTNRUN_RETURN_IF_ERROR(
      at_least(0, c.max_initial_timestamp_index.value_or(0), "max_initial_timestamp_index"));
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
  if (c.exponential_decay_length_penalty.has_value()) {
    const auto [start, factor] = *c.exponential_decay_length_penalty;
    ATTNRUN_RETURN_IF_ERROR(CheckRange(start >= -kLongest && start <= kLongest,
                                       "exponential_decay_length_penalty",
                                       "a start from -2^40 to 2^40", static_cast<double>(start)));
    ATTNRUN_RETURN_IF_ERROR(finite(factor, "exponential_decay_length_penalty"));
  }
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
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckGenerationConfig(const GenerationConfig& config) {
  return WithoutExceptions([&]() -> absl::Status {
    ATTNRUN_RETURN_IF_ERROR(CheckLengths(config));
    ATTNRUN_RETURN_IF_ERROR(CheckNumbers(config));
    ATTNRUN_RETURN_IF_ERROR(CheckBeams(config));
    return CheckIds(config);
  });
}

}  // namespace attnrun
