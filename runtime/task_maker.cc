// SPDX-License-Identifier: Apache-2.0
#include "task_maker.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "decoder_inputs.h"
#include "encoder_inputs.h"
#include "generation/prompt_mask.h"
#include "generation/whisper_start.h"

namespace attnrun {
namespace {

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

TaskMaker::TaskMaker(const GeneratorModel& model) : model_(model), sessions_(model.sessions) {
  if (sessions_.encoder.has_value()) encoder_inputs_ = sessions_.encoder->inputs();
}

absl::StatusOr<gen::Task> TaskMaker::Make(const GenerationRequest& request,
                                          const GenerationConfig& config,
                                          const RunOptions& run) const {
  ATTNRUN_RETURN_IF_ERROR(CheckIds(request.prompt, sessions_.decoder.vocabulary));
  ATTNRUN_RETURN_IF_ERROR(CheckIds(request.encoder_ids, -1));
  ATTNRUN_ASSIGN_OR_RETURN(const TensorMap encoded, Encoded(request, config, run));
  gen::Task task;
  gen::Prompt& prompt = task.prompt;
  ATTNRUN_ASSIGN_OR_RETURN(prompt.ids, FirstIds(request.prompt, config, encoded, run));
  ATTNRUN_RETURN_IF_ERROR(CheckIds(prompt.ids, sessions_.decoder.vocabulary));
  const auto length = static_cast<int64_t>(prompt.ids.size());
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t most, MaxLength(length, config));
  // Without an encoder, transformers' settings for its ids are for the prompt.
  prompt.facts = {length, most, sessions_.encoder.has_value() ? request.encoder_ids : prompt.ids};
  gen::PromptMask mask;
  const bool masks = !sessions_.encoder.has_value() && sessions_.decoder.masks_ids;
  if (masks) mask = gen::MaskOfPads(prompt.ids, config);
  // Other rows with the same ids may have read pads as ids.
  task.shares_prefixes = encoded.empty() && sessions_.decoder.can_grow && mask.empty();
  task.new_row = [this, encoded, mask, use_cache = config.use_cache](int64_t capacity) {
    return model_.decoder.NewRow(encoded, capacity, use_cache, mask);
  };
  return task;
}

// The inputs of the decoder that the encoder makes, if there is one.
absl::StatusOr<TensorMap> TaskMaker::Encoded(const GenerationRequest& request,
                                             const GenerationConfig& config,
                                             const RunOptions& run) const {
  if (!sessions_.encoder.has_value()) {
    if (request.encoder_ids.empty() && request.encoder_inputs.empty()) return TensorMap();
    return absl::InvalidArgumentError("the model has no encoder that reads a text or other inputs");
  }
  std::function<absl::StatusOr<Tensor>(const TokenIds&)> embed;
  if (sessions_.embed_tokens.has_value()) {
    embed = [&](const TokenIds& ids) -> absl::StatusOr<Tensor> {
      const DecoderStep step{absl::MakeConstSpan(&ids, 1)};
      ATTNRUN_ASSIGN_OR_RETURN(const TensorMap made, Embed(*sessions_.embed_tokens, step, run));
      return made.at(kEmbeddings);
    };
  }
  ATTNRUN_ASSIGN_OR_RETURN(
      const TensorMap inputs,
      EncoderInputs(encoder_inputs_, request.encoder_ids, request.encoder_inputs, config, embed));
  absl::StatusOr<TensorMap> outputs = Encode(sessions_, inputs, run);
  if (absl::IsInvalidArgument(outputs.status())) {
    // The encoder may have a vocabulary of its own, so only its failure tells.
    const absl::Status ids = CheckIds(request.encoder_ids, sessions_.decoder.vocabulary);
    if (!ids.ok()) return Annotate(ids, "the encoder's text");
  }
  return outputs;
}

// The ids that the decoder starts with, as transformers completes them. `encoded` has the inputs
// that the encoder made.
absl::StatusOr<TokenIds> TaskMaker::FirstIds(const TokenIds& given, const GenerationConfig& config,
                                             const TensorMap& encoded,
                                             const RunOptions& run) const {
  TokenIds ids = given;
  const std::optional<int64_t> start =
      sessions_.encoder.has_value() && config.decoder_start_token_id.has_value()
          ? config.decoder_start_token_id
          : config.bos_token_id;
  if (ids.empty()) {
    if (!start.has_value()) {
      return absl::InvalidArgumentError(
          "it is empty, and the configuration has no token to start with");
    }
    if (model_.IsWhisper()) {
      return gen::WhisperStart(*start, config,
                               [&] { return Language(*start, config, encoded, run); });
    }
    ids = {*start};
    for (const auto& [position, id] : config.forced_decoder_ids) {
      if (id.has_value()) ids.push_back(*id);
    }
  } else if (sessions_.encoder.has_value() && !model_.IsWhisper() && !model_.IsDonut() &&
             start.has_value() && ids[0] != *start) {
    ids.insert(ids.begin(), *start);
  }
  return ids;
}

// The id of the language that is most probable behind the start token.
absl::StatusOr<int64_t> TaskMaker::Language(int64_t start, const GenerationConfig& config,
                                            const TensorMap& encoded, const RunOptions& run) const {
  const TokenIds ids = {start};
  ATTNRUN_RETURN_IF_ERROR(CheckIds(ids, sessions_.decoder.vocabulary));
  ATTNRUN_ASSIGN_OR_RETURN(const std::unique_ptr<gen::Row> row,
                           model_.decoder.NewRow(encoded, 1, config.use_cache));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<gen::Logits> logits,
                           model_.decoder.Read({{row.get(), ids, 1}}, run));
  return gen::MostProbableLanguage(logits[0], config);
}

// The most ids of a sequence whose prompt has `length`.
absl::StatusOr<int64_t> TaskMaker::MaxLength(int64_t length, const GenerationConfig& config) const {
  constexpr int64_t kNewByDefault = 20;
  const int64_t positions =
      model_.folder.facts.max_positions.value_or(std::numeric_limits<int64_t>::max());
  if (length >= positions) {
    return absl::InvalidArgumentError(absl::StrCat("it has ", length,
                                                   " ids, but the model reads at most ", positions,
                                                   ", the new ones included"));
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

}  // namespace attnrun
