// SPDX-License-Identifier: Apache-2.0
#include "attnrun/generator.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "core/exceptions.h"
#include "core/status.h"
#include "decoder_inputs.h"
#include "generation/model_folder.h"
#include "generation/search.h"
#include "model_decoder.h"

namespace attnrun {
namespace {

std::string NameOf(size_t request, size_t requests) {
  return requests == 1 ? "the prompt" : absl::StrCat("prompt ", request);
}

absl::Status CheckIds(const TokenIds& ids, int64_t vocabulary) {
  for (const int64_t id : ids) {
    if (id >= 0 && (vocabulary < 0 || id < vocabulary)) continue;
    return absl::InvalidArgumentError(
        vocabulary < 0 ? absl::StrCat("expected ids of at least 0, but found ", id)
                       : absl::StrCat("expected ids from 0 to ", vocabulary - 1,
                                      ", as the model's vocabulary has them, but found ", id));
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view Name(FinishReason reason) {
  return reason == FinishReason::kStop ? "stop" : "length";
}

class __attribute__((visibility("hidden"))) Generator::Impl {
 public:
  Impl(gen::ModelFolder folder, ModelSessions sessions)
      : folder_(std::move(folder)), sessions_(std::move(sessions)) {
    if (sessions_.encoder.has_value()) encoder_inputs_ = sessions_.encoder->inputs();
  }

  const GenerationConfig& config() const { return folder_.config; }
  const std::vector<ValueInfo>& encoder_inputs() const { return encoder_inputs_; }

  absl::StatusOr<GenerationResult> Generate(const std::vector<GenerationRequest>& requests,
                                            const GenerationConfig& config,
                                            const GenerateOptions& options) const {
    ATTNRUN_RETURN_IF_ERROR(CheckGenerationConfig(config));
    GenerationResult result;
    gen::Meter meter;
    meter.start = absl::Now();
    RunOptions run;
    run.deadline = options.deadline;
    run.cancel = options.cancel;
    gen::SearchContext context{config, options, run, meter};
    std::vector<gen::Prompt> prompts;
    for (size_t i = 0; i < requests.size(); ++i) {
      absl::StatusOr<gen::Prompt> prompt = MakePrompt(requests[i], config);
      if (!prompt.ok()) return Annotate(prompt.status(), NameOf(i, requests.size()));
      prompt->place = i * static_cast<size_t>(config.num_return_sequences);
      prompts.push_back(*std::move(prompt));
    }
    result.sequences.resize(requests.size() * static_cast<size_t>(config.num_return_sequences));
    ATTNRUN_RETURN_IF_ERROR(Search(requests, prompts, context, result.sequences));
    Report(meter, result);
    return result;
  }

 private:
  // The ids that the decoder starts with, as transformers completes them.
  absl::StatusOr<TokenIds> FirstIds(const TokenIds& given, const GenerationConfig& config) const {
    TokenIds ids = given;
    const std::optional<int64_t> start =
        sessions_.encoder.has_value() && config.decoder_start_token_id.has_value()
            ? config.decoder_start_token_id
            : config.bos_token_id;
    if (ids.empty() && !start.has_value()) {
      return absl::InvalidArgumentError(
          "it is empty, and the configuration has no token to start with");
    }
    if (ids.empty()) {
      ids = {*start};
      for (const auto& [position, id] : config.forced_decoder_ids) ids.push_back(id);
    } else if (sessions_.encoder.has_value() && folder_.facts.type != "whisper" &&
               start.has_value() && ids[0] != *start) {
      ids.insert(ids.begin(), *start);
    }
    return ids;
  }

  absl::StatusOr<gen::Prompt> MakePrompt(const GenerationRequest& request,
                                         const GenerationConfig& config) const {
    gen::Prompt prompt;
    ATTNRUN_ASSIGN_OR_RETURN(prompt.ids, FirstIds(request.prompt, config));
    ATTNRUN_RETURN_IF_ERROR(CheckIds(prompt.ids, sessions_.decoder.vocabulary));
    ATTNRUN_RETURN_IF_ERROR(CheckIds(request.encoder_ids, -1));
    const auto length = static_cast<int64_t>(prompt.ids.size());
    ATTNRUN_ASSIGN_OR_RETURN(const int64_t most, MaxLength(length, config));
    prompt.facts = {length, most, request.encoder_ids};
    return prompt;
  }

  // The most ids of a sequence whose prompt has `length`.
  absl::StatusOr<int64_t> MaxLength(int64_t length, const GenerationConfig& config) const {
    constexpr int64_t kNewByDefault = 20;
    const int64_t positions =
        folder_.facts.max_positions.value_or(std::numeric_limits<int64_t>::max());
    if (length >= positions) {
      return absl::InvalidArgumentError(absl::StrCat("it has ", length,
                                                     " ids, but the model reads at most ",
                                                     positions, ", the new ones included"));
    }
    int64_t most = length + config.max_new_tokens.value_or(kNewByDefault);
    if (!config.max_new_tokens.has_value() && config.max_length.has_value()) {
      most = *config.max_length;
      if (length >= most) {
        return absl::InvalidArgumentError(
            absl::StrCat("it has ", length, " ids, but max_length is ", most));
      }
    }
    return std::min(most, positions);
  }

  absl::Status Search(const std::vector<GenerationRequest>& requests,
                      const std::vector<gen::Prompt>& prompts, gen::SearchContext& context,
                      std::vector<GeneratedSequence>& sequences) const {
    std::vector<DecoderRow> rows;
    for (size_t i = 0; i < prompts.size(); ++i) {
      ATTNRUN_ASSIGN_OR_RETURN(rows.emplace_back(), MakeRow(requests[i], prompts[i], context));
    }
    const bool use_cache = context.config.use_cache;
    if (context.config.num_beams == 1) {
      ATTNRUN_ASSIGN_OR_RETURN(const std::unique_ptr<gen::Decoder> decoder,
                               StartDecoder(sessions_, rows, use_cache));
      return gen::SearchRows(*decoder, prompts, context, sequences);
    }
    for (size_t i = 0; i < prompts.size(); ++i) {
      ATTNRUN_ASSIGN_OR_RETURN(const std::unique_ptr<gen::Decoder> decoder,
                               StartDecoder(sessions_, {rows[i]}, use_cache));
      ATTNRUN_RETURN_IF_ERROR(gen::SearchBeams(*decoder, prompts[i], context, sequences));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<DecoderRow> MakeRow(const GenerationRequest& request, const gen::Prompt& prompt,
                                     const gen::SearchContext& context) const {
    DecoderRow row;
    // A state that outgrows its capacity takes more, so a large max_length costs nothing in advance.
    constexpr int64_t kNew = 4096;
    row.capacity = std::min(prompt.facts.max_length, prompt.facts.length + kNew);
    if (sessions_.encoder.has_value()) {
      ATTNRUN_ASSIGN_OR_RETURN(const TensorMap inputs, EncoderInputs(request));
      ATTNRUN_ASSIGN_OR_RETURN(row.encoded, Encode(sessions_, inputs, context.run));
    }
    return row;
  }

  absl::StatusOr<TensorMap> EncoderInputs(const GenerationRequest& request) const {
    TensorMap inputs = request.encoder_inputs;
    for (const ValueInfo& info : encoder_inputs_) {
      if (inputs.count(info.name) > 0 || info.has_default) continue;
      if (request.encoder_ids.empty()) {
        if (info.name == "attention_mask") continue;
        return absl::InvalidArgumentError(
            absl::StrCat("the encoder's input '", info.name, "', ", TypeAndShape(info),
                         info.name == "input_ids" ? ", needs the ids of a text" : ", is missing"));
      }
      const auto length = static_cast<int64_t>(request.encoder_ids.size());
      if (info.name == "input_ids") {
        ATTNRUN_ASSIGN_OR_RETURN(inputs[info.name], IdTensor(info.type, {request.encoder_ids}));
      } else if (info.name == "attention_mask") {
        ATTNRUN_ASSIGN_OR_RETURN(inputs[info.name], FilledTensor(info.type, {1, length}, 1));
      } else if (info.name == "token_type_ids") {
        ATTNRUN_ASSIGN_OR_RETURN(inputs[info.name], FilledTensor(info.type, {1, length}, 0));
      }
    }
    return inputs;
  }

  static void Report(const gen::Meter& meter, GenerationResult& result) {
    const auto rate = [](int64_t tokens, absl::Duration time) {
      const double seconds = absl::ToDoubleSeconds(time);
      return seconds > 0 ? static_cast<double>(tokens) / seconds : 0.0;
    };
    result.time_to_first_token = meter.first_token;
    result.prompt_tokens_per_second = rate(meter.prompt_tokens, meter.prompt_time);
    result.decode_tokens_per_second = rate(meter.decode_tokens, meter.decode_time);
  }

  gen::ModelFolder folder_;
  ModelSessions sessions_;
  std::vector<ValueInfo> encoder_inputs_;
};

Generator::Generator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Generator::Generator(Generator&&) noexcept = default;
Generator& Generator::operator=(Generator&&) noexcept = default;
Generator::~Generator() = default;

absl::StatusOr<Generator> Generator::Load(const std::string& path, const SessionOptions& options) {
  return WithoutExceptions([&]() -> absl::StatusOr<Generator> {
    ATTNRUN_ASSIGN_OR_RETURN(gen::ModelFolder folder, gen::ReadModelFolder(path));
    ATTNRUN_ASSIGN_OR_RETURN(ModelSessions sessions, ModelSessions::Load(folder.files, options));
    return Generator(std::make_unique<Impl>(std::move(folder), std::move(sessions)));
  });
}

const GenerationConfig& Generator::config() const { return impl_->config(); }

const std::vector<ValueInfo>& Generator::encoder_inputs() const { return impl_->encoder_inputs(); }

absl::StatusOr<GenerationResult> Generator::Generate(const std::vector<GenerationRequest>& requests,
                                                     const GenerationConfig& config,
                                                     const GenerateOptions& options) const {
  return WithoutExceptions([&] { return impl_->Generate(requests, config, options); });
}

}  // namespace attnrun
