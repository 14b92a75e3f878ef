// SPDX-License-Identifier: Apache-2.0
#include "attnrun/generator.h"

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "attnrun/c_generator.h"
#include "core/quote.h"
#include "core/status.h"
#include "model_info.h"
#include "session.h"
#include "status.h"
#include "tensor.h"

struct attnrun_generator_options {
  attnrun::GeneratorOptions options;
};

struct attnrun_generator {
  explicit attnrun_generator(attnrun::Generator loaded)
      : generator(std::move(loaded)), model(generator.encoder_inputs(), {}, {}) {}

  const attnrun::Generator generator;
  // The encoder's inputs.
  const attnrun_model_info model;
};

struct attnrun_generation_request {
  attnrun::GenerationRequest request;
};

struct attnrun_generate_options {
  // Negative for none.
  int64_t timeout_microseconds = -1;
  std::atomic<bool> cancelled = false;
  attnrun_token_function on_token = nullptr;
  void* context = nullptr;
  int64_t top_candidates = 0;
};

struct attnrun_generation_result {
  attnrun::GenerationResult result;
};

namespace {

using attnrun::GeneratedSequence;
using attnrun::TokenIds;
using attnrun::capi::Guarded;
using attnrun::capi::IsNull;
using attnrun::capi::MakeOptions;

absl::StatusOr<TokenIds> Ids(const int64_t* ids, size_t count, absl::string_view parameter) {
  if (ids == nullptr && count > 0) return IsNull(parameter);
  return TokenIds(ids, ids + count);
}

absl::StatusOr<std::vector<attnrun::GenerationRequest>> RequestsOf(
    const attnrun_generation_request* const* requests, size_t count) {
  if (requests == nullptr && count > 0) return IsNull("requests");
  std::vector<attnrun::GenerationRequest> given;
  for (size_t i = 0; i < count; ++i) {
    if (requests[i] == nullptr) return IsNull(absl::StrCat("requests[", i, "]"));
    given.push_back(requests[i]->request);
  }
  return given;
}

// The settings of a call that begins now. `options` may be null.
attnrun::GenerateOptions SettingsOf(const attnrun_generate_options* options) {
  attnrun::GenerateOptions settings;
  if (options == nullptr) return settings;
  if (options->timeout_microseconds >= 0) {
    settings.deadline = absl::Now() + absl::Microseconds(options->timeout_microseconds);
  }
  settings.cancel = &options->cancelled;
  settings.top_candidates = options->top_candidates;
  if (options->on_token != nullptr) {
    settings.on_token = [call = options->on_token, context = options->context](
                            size_t sequence, int64_t token) { call(context, sequence, token); };
  }
  return settings;
}

absl::Status SetLimit(absl::string_view name, int64_t limit, attnrun::GeneratorOptions& options) {
  if (limit < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": expected a limit of at least 0, but found ", limit));
  }
  if (name == "prefix_cache_bytes") {
    options.prefix_cache_bytes = static_cast<size_t>(limit);
  } else if (name == "max_step_tokens") {
    options.max_step_tokens = limit;
  } else if (name == "max_rows") {
    options.max_rows = limit;
  } else if (name == "max_waiting") {
    options.max_waiting = limit;
  } else {
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no limit ", attnrun::Quoted(name),
        "; the limits are prefix_cache_bytes, max_step_tokens, max_rows, max_waiting"));
  }
  return absl::OkStatus();
}

const GeneratedSequence& SequenceOf(const attnrun_generation_result* result, size_t sequence) {
  return result->result.sequences[sequence];
}

}  // namespace

attnrun_status* attnrun_generator_options_new(attnrun_generator_options** options) {
  return MakeOptions(options);
}

void attnrun_generator_options_free(attnrun_generator_options* options) { delete options; }

attnrun_status* attnrun_generator_options_set_draft(attnrun_generator_options* options,
                                                    const char* path) {
  return Guarded([&]() -> absl::Status {
    if (options == nullptr) return IsNull("options");
    if (path == nullptr) return IsNull("path");
    options->options.draft = path;
    return absl::OkStatus();
  });
}

attnrun_status* attnrun_generator_options_set_limit(attnrun_generator_options* options,
                                                    const char* name, int64_t limit) {
  return Guarded([&]() -> absl::Status {
    if (options == nullptr) return IsNull("options");
    if (name == nullptr) return IsNull("name");
    return SetLimit(name, limit, options->options);
  });
}

attnrun_status* attnrun_generator_load(const char* path,
                                       const attnrun_session_options* session_options,
                                       const attnrun_generator_options* options,
                                       attnrun_generator** generator) {
  return Guarded([&]() -> absl::Status {
    if (path == nullptr) return IsNull("path");
    if (generator == nullptr) return IsNull("generator");
    ATTNRUN_ASSIGN_OR_RETURN(
        attnrun::Generator loaded,
        attnrun::Generator::Load(
            path, session_options == nullptr ? attnrun::SessionOptions() : session_options->options,
            options == nullptr ? attnrun::GeneratorOptions() : options->options));
    *generator = new attnrun_generator(std::move(loaded));
    return absl::OkStatus();
  });
}

void attnrun_generator_free(attnrun_generator* generator) { delete generator; }

size_t attnrun_generator_encoder_input_count(const attnrun_generator* generator) {
  return attnrun_model_info_input_count(&generator->model);
}

const attnrun_value_info* attnrun_generator_encoder_input(const attnrun_generator* generator,
                                                          size_t index) {
  return attnrun_model_info_input(&generator->model, index);
}

attnrun_status* attnrun_generation_request_new(const int64_t* prompt, size_t count,
                                               attnrun_generation_request** request) {
  return Guarded([&]() -> absl::Status {
    if (request == nullptr) return IsNull("request");
    ATTNRUN_ASSIGN_OR_RETURN(TokenIds ids, Ids(prompt, count, "prompt"));
    *request = new attnrun_generation_request{{std::move(ids), {}, {}}};
    return absl::OkStatus();
  });
}

void attnrun_generation_request_free(attnrun_generation_request* request) { delete request; }

attnrun_status* attnrun_generation_request_set_encoder_ids(attnrun_generation_request* request,
                                                           const int64_t* ids, size_t count) {
  return Guarded([&]() -> absl::Status {
    if (request == nullptr) return IsNull("request");
    ATTNRUN_ASSIGN_OR_RETURN(request->request.encoder_ids, Ids(ids, count, "ids"));
    return absl::OkStatus();
  });
}

attnrun_status* attnrun_generation_request_set_encoder_input(attnrun_generation_request* request,
                                                             const char* name,
                                                             const attnrun_tensor* tensor) {
  return Guarded([&]() -> absl::Status {
    if (request == nullptr) return IsNull("request");
    if (name == nullptr) return IsNull("name");
    if (tensor == nullptr) return IsNull("tensor");
    request->request.encoder_inputs.insert_or_assign(name, tensor->tensor);
    return absl::OkStatus();
  });
}

attnrun_status* attnrun_generate_options_new(attnrun_generate_options** options) {
  return MakeOptions(options);
}

void attnrun_generate_options_free(attnrun_generate_options* options) { delete options; }

void attnrun_generate_options_set_timeout(attnrun_generate_options* options, int64_t microseconds) {
  options->timeout_microseconds = microseconds;
}

void attnrun_generate_options_set_cancelled(attnrun_generate_options* options, int cancelled) {
  options->cancelled = cancelled != 0;
}

void attnrun_generate_options_set_on_token(attnrun_generate_options* options,
                                           attnrun_token_function on_token, void* context) {
  options->on_token = on_token;
  options->context = context;
}

void attnrun_generate_options_set_top_candidates(attnrun_generate_options* options, int64_t count) {
  options->top_candidates = count;
}

attnrun_status* attnrun_generator_generate(const attnrun_generator* generator,
                                           const attnrun_generation_request* const* requests,
                                           size_t count, const char* config,
                                           const attnrun_generate_options* options,
                                           attnrun_generation_result** result) {
  return Guarded([&]() -> absl::Status {
    if (generator == nullptr) return IsNull("generator");
    if (result == nullptr) return IsNull("result");
    const attnrun::GenerateOptions settings = SettingsOf(options);
    ATTNRUN_ASSIGN_OR_RETURN(const auto given, RequestsOf(requests, count));
    attnrun::GenerationConfig chosen = generator->generator.config();
    if (config != nullptr) {
      ATTNRUN_RETURN_IF_ERROR(UpdateGenerationConfig(config, /*strict=*/true, chosen));
    }
    ATTNRUN_ASSIGN_OR_RETURN(attnrun::GenerationResult made,
                             generator->generator.Generate(given, chosen, settings));
    *result = new attnrun_generation_result{std::move(made)};
    return absl::OkStatus();
  });
}

void attnrun_generation_result_free(attnrun_generation_result* result) { delete result; }

size_t attnrun_generation_result_sequence_count(const attnrun_generation_result* result) {
  return result->result.sequences.size();
}

const int64_t* attnrun_generation_result_tokens(const attnrun_generation_result* result,
                                                size_t sequence, size_t* count) {
  const TokenIds& tokens = SequenceOf(result, sequence).tokens;
  if (count != nullptr) *count = tokens.size();
  return tokens.data();
}

size_t attnrun_generation_result_prompt_tokens(const attnrun_generation_result* result,
                                               size_t sequence) {
  return static_cast<size_t>(SequenceOf(result, sequence).prompt_tokens);
}

double attnrun_generation_result_score(const attnrun_generation_result* result, size_t sequence) {
  return SequenceOf(result, sequence).score;
}

const char* attnrun_generation_result_finish(const attnrun_generation_result* result,
                                             size_t sequence) {
  // Names are string literals.
  return attnrun::Name(SequenceOf(result, sequence).finish).data();
}

size_t attnrun_generation_result_candidate_count(const attnrun_generation_result* result,
                                                 size_t sequence, size_t position) {
  const auto& candidates = SequenceOf(result, sequence).candidates;
  return position < candidates.size() ? candidates[position].size() : 0;
}

int64_t attnrun_generation_result_candidate(const attnrun_generation_result* result,
                                            size_t sequence, size_t position, size_t rank,
                                            float* log_probability) {
  const auto& [token, probability] = SequenceOf(result, sequence).candidates[position][rank];
  if (log_probability != nullptr) *log_probability = probability;
  return token;
}

double attnrun_generation_result_metric(const attnrun_generation_result* result, const char* name) {
  const attnrun::GenerationResult& r = result->result;
  const std::pair<absl::string_view, double> metrics[] = {
      {"time_to_first_token", absl::ToDoubleSeconds(r.time_to_first_token)},
      {"prompt_tokens_per_second", r.prompt_tokens_per_second},
      {"decode_tokens_per_second", r.decode_tokens_per_second},
      {"reused_tokens", static_cast<double>(r.reused_tokens)},
      {"guessed_tokens", static_cast<double>(r.guessed_tokens)},
      {"accepted_tokens", static_cast<double>(r.accepted_tokens)},
      {"state_bytes", static_cast<double>(r.state_bytes)}};
  for (const auto& [known, value] : metrics) {
    if (known == name) return value;
  }
  return -1;
}
