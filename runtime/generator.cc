// SPDX-License-Identifier: Apache-2.0
#include "attnrun/generator.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/exceptions.h"
#include "core/status.h"
#include "encoder_inputs.h"
#include "generation/model_folder.h"
#include "generation/scheduler.h"
#include "generation/whisper_start.h"
#include "model_decoder.h"
#include "transcription.h"

namespace attnrun {

// A model with what runs it. Has a name outside of this file, since Generator::Impl holds it and
// has one, too.
struct GeneratorModel {
  GeneratorModel(gen::ModelFolder model_folder, ModelSessions model_sessions)
      : folder(std::move(model_folder)), sessions(std::move(model_sessions)), decoder(sessions) {}

  const gen::ModelFolder folder;
  const ModelSessions sessions;
  const ModelDecoder decoder;
};

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

absl::StatusOr<std::unique_ptr<const GeneratorModel>> LoadModel(const std::string& path,
                                                                const SessionOptions& options) {
  ATTNRUN_ASSIGN_OR_RETURN(gen::ModelFolder folder, gen::ReadModelFolder(path));
  ATTNRUN_ASSIGN_OR_RETURN(ModelSessions sessions, ModelSessions::Load(folder.files, options));
  ATTNRUN_RETURN_IF_ERROR(Annotate(CheckCausal(sessions), folder.files.decoder));
  return std::make_unique<const GeneratorModel>(std::move(folder), std::move(sessions));
}

absl::Status CheckOptions(const GeneratorOptions& options) {
  for (const auto& [value, name] :
       {std::pair{options.max_step_tokens, "max_step_tokens"},
        std::pair{options.max_rows, "max_rows"}, std::pair{options.max_waiting, "max_waiting"}}) {
    if (value > 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": expected a number above 0, but found ", value));
  }
  return absl::OkStatus();
}

// kInvalidArgument unless `draft` can guess the tokens of a model.
absl::Status CheckDraft(const ModelSessions& sessions, const ModelSessions& draft) {
  if (sessions.encoder.has_value() || draft.encoder.has_value()) {
    return absl::InvalidArgumentError("a draft model works without encoders alone");
  }
  if (sessions.decoder.vocabulary != draft.decoder.vocabulary) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a vocabulary of ", sessions.decoder.vocabulary,
                     ", that of the model, but found ", draft.decoder.vocabulary));
  }
  for (const ModelSessions* model : {&sessions, &draft}) {
    const bool reads = model->decoder.can_rewind && model->decoder.has_positions;
    if (reads) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        model == &draft ? "it" : "the model",
        model->decoder.has_positions
            ? " has a state that cannot be rewound, so wrong guesses could not be taken back"
            : " has logits of the last position alone"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view Name(FinishReason reason) {
  return reason == FinishReason::kStop ? "stop" : "length";
}

class __attribute__((visibility("hidden"))) Generator::Impl {
 public:
  // `draft` may be null.
  Impl(std::unique_ptr<const GeneratorModel> model, std::unique_ptr<const GeneratorModel> draft,
       const GeneratorOptions& options)
      : model_(std::move(model)),
        draft_(std::move(draft)),
        folder_(model_->folder),
        sessions_(model_->sessions),
        scheduler_(model_->decoder, MakeDraft(), options) {
    const auto& encoder = sessions_.encoder;
    if (!encoder.has_value()) return;
    encoder_inputs_ = encoder->inputs();
    window_frames_ = WindowFrames(encoder_inputs_, folder_.facts.max_source_positions);
  }

  const GenerationConfig& config() const { return folder_.config; }
  const std::vector<ValueInfo>& encoder_inputs() const { return encoder_inputs_; }
  const Session& decoder() const {
    return sessions_.with_past.has_value() ? sessions_.with_past->session
                                           : sessions_.decoder.session;
  }
  const std::string& decoder_file() const {
    return sessions_.with_past.has_value() ? folder_.files.decoder_with_past
                                           : folder_.files.decoder;
  }

  absl::StatusOr<GenerationResult> Generate(const std::vector<GenerationRequest>& requests,
                                            const GenerationConfig& config,
                                            const GenerateOptions& options) const {
    ATTNRUN_RETURN_IF_ERROR(CheckGenerationConfig(config));
    gen::SearchSettings settings;
    settings.config = config;
    settings.top_candidates = options.top_candidates;
    RunOptions run;
    run.deadline = options.deadline;
    run.cancel = options.cancel;
    if (IsWhisper() && window_frames_.has_value()) {
      return TranscribeWindows(
          requests, config, *window_frames_,
          [&](std::vector<AudioWindow>& windows, const GenerationConfig& of_windows) {
            settings.config = of_windows;
            return SearchWindows(windows, requests.size(), settings, run);
          },
          options.on_token);
    }
    std::vector<gen::Task> tasks;
    for (size_t i = 0; i < requests.size(); ++i) {
      absl::StatusOr<gen::Task> task = MakeTask(requests[i], config, run);
      if (!task.ok()) return Annotate(task.status(), gen::NameOfPrompt(i, requests.size()));
      tasks.push_back(*std::move(task));
    }
    GenerationResult result;
    ATTNRUN_RETURN_IF_ERROR(
        scheduler_.Run(std::move(tasks), settings, run, options.on_token, result));
    return result;
  }

 private:
  // Searches for continuations of windows of the audio of `requests` requests.
  absl::StatusOr<GenerationResult> SearchWindows(std::vector<AudioWindow>& windows, size_t requests,
                                                 const gen::SearchSettings& settings,
                                                 const RunOptions& run) const {
    std::vector<gen::Task> tasks;
    for (AudioWindow& window : windows) {
      absl::StatusOr<gen::Task> task = MakeTask(window.request, settings.config, run);
      if (!task.ok()) return Annotate(task.status(), gen::NameOfPrompt(window.number, requests));
      window.request.prompt = task->prompt.ids;
      tasks.push_back(*std::move(task));
    }
    GenerationResult result;
    ATTNRUN_RETURN_IF_ERROR(scheduler_.Run(std::move(tasks), settings, run, {}, result));
    return result;
  }

  // The ids that the decoder starts with, as transformers completes them. `encoded` has the inputs
  // that the encoder made.
  absl::StatusOr<TokenIds> FirstIds(const TokenIds& given, const GenerationConfig& config,
                                    const TensorMap& encoded, const RunOptions& run) const {
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
      if (IsWhisper()) {
        return gen::WhisperStart(*start, config,
                                 [&] { return Language(*start, config, encoded, run); });
      }
      ids = {*start};
      for (const auto& [position, id] : config.forced_decoder_ids) {
        if (id.has_value()) ids.push_back(*id);
      }
    } else if (sessions_.encoder.has_value() && !IsWhisper() && !IsDonut() && start.has_value() &&
               ids[0] != *start) {
      ids.insert(ids.begin(), *start);
    }
    return ids;
  }

  bool IsWhisper() const { return folder_.facts.type == "whisper"; }
  bool IsDonut() const { return absl::StartsWith(folder_.facts.encoder_type, "donut"); }

  // The id of the language that is most probable behind the start token.
  absl::StatusOr<int64_t> Language(int64_t start, const GenerationConfig& config,
                                   const TensorMap& encoded, const RunOptions& run) const {
    const TokenIds ids = {start};
    ATTNRUN_RETURN_IF_ERROR(CheckIds(ids, sessions_.decoder.vocabulary));
    ATTNRUN_ASSIGN_OR_RETURN(const std::unique_ptr<gen::Row> row,
                             model_->decoder.NewRow(encoded, 1, config.use_cache));
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<gen::Logits> logits,
                             model_->decoder.Read({{row.get(), ids, 1}}, run));
    return gen::MostProbableLanguage(logits[0], config);
  }

  absl::StatusOr<gen::Task> MakeTask(const GenerationRequest& request,
                                     const GenerationConfig& config, const RunOptions& run) const {
    ATTNRUN_RETURN_IF_ERROR(CheckIds(request.prompt, sessions_.decoder.vocabulary));
    ATTNRUN_RETURN_IF_ERROR(CheckIds(request.encoder_ids, -1));
    TensorMap encoded;
    if (sessions_.encoder.has_value()) {
      ATTNRUN_ASSIGN_OR_RETURN(
          const TensorMap inputs,
          EncoderInputs(encoder_inputs_, request.encoder_ids, request.encoder_inputs));
      absl::StatusOr<TensorMap> outputs = Encode(sessions_, inputs, run);
      if (absl::IsInvalidArgument(outputs.status())) {
        // The encoder may have a vocabulary of its own, so only its failure tells.
        const absl::Status ids = CheckIds(request.encoder_ids, sessions_.decoder.vocabulary);
        if (!ids.ok()) return Annotate(ids, "the encoder's text");
      }
      ATTNRUN_ASSIGN_OR_RETURN(encoded, std::move(outputs));
    }
    gen::Task task;
    gen::Prompt& prompt = task.prompt;
    ATTNRUN_ASSIGN_OR_RETURN(prompt.ids, FirstIds(request.prompt, config, encoded, run));
    ATTNRUN_RETURN_IF_ERROR(CheckIds(prompt.ids, sessions_.decoder.vocabulary));
    const auto length = static_cast<int64_t>(prompt.ids.size());
    ATTNRUN_ASSIGN_OR_RETURN(const int64_t most, MaxLength(length, config));
    // Without an encoder, transformers' settings for its ids are for the prompt.
    prompt.facts = {length, most, sessions_.encoder.has_value() ? request.encoder_ids : prompt.ids};
    task.shares_prefixes = encoded.empty() && sessions_.decoder.can_grow;
    task.new_row = [this, encoded, use_cache = config.use_cache](int64_t capacity) {
      return model_->decoder.NewRow(encoded, capacity, use_cache);
    };
    return task;
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

  gen::DraftModel MakeDraft() const {
    gen::DraftModel draft;
    if (draft_ == nullptr) return draft;
    draft.decoder = &draft_->decoder;
    draft.new_row = [model = draft_.get()](int64_t capacity) {
      return model->decoder.NewRow({}, capacity, /*use_cache=*/true);
    };
    draft.max_positions = draft_->folder.facts.max_positions.value_or(draft.max_positions);
    draft.vocabulary = sessions_.decoder.vocabulary;
    return draft;
  }

  const std::unique_ptr<const GeneratorModel> model_;
  const std::unique_ptr<const GeneratorModel> draft_;
  const gen::ModelFolder& folder_;
  const ModelSessions& sessions_;
  std::vector<ValueInfo> encoder_inputs_;
  // Whisper's encoder reads so many at once.
  std::optional<int64_t> window_frames_;
  mutable gen::Scheduler scheduler_;
};

Generator::Generator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Generator::Generator(Generator&&) noexcept = default;
Generator& Generator::operator=(Generator&&) noexcept = default;
Generator::~Generator() = default;

absl::StatusOr<Generator> Generator::Load(const std::string& path, const SessionOptions& options,
                                          const GeneratorOptions& generation) {
  return WithoutExceptions([&]() -> absl::StatusOr<Generator> {
    ATTNRUN_RETURN_IF_ERROR(CheckOptions(generation));
    ATTNRUN_ASSIGN_OR_RETURN(auto model, LoadModel(path, options));
    std::unique_ptr<const GeneratorModel> draft;
    if (!generation.draft.empty()) {
      ATTNRUN_ASSIGN_OR_RETURN(draft, LoadModel(generation.draft, options));
      ATTNRUN_RETURN_IF_ERROR(Annotate(CheckDraft(model->sessions, draft->sessions),
                                       absl::StrCat("draft ", generation.draft)));
    }
    return Generator(std::make_unique<Impl>(std::move(model), std::move(draft), generation));
  });
}

const GenerationConfig& Generator::config() const { return impl_->config(); }

const Session& Generator::decoder() const { return impl_->decoder(); }

const std::string& Generator::decoder_file() const { return impl_->decoder_file(); }

const std::vector<ValueInfo>& Generator::encoder_inputs() const { return impl_->encoder_inputs(); }

absl::StatusOr<GenerationResult> Generator::Generate(const std::vector<GenerationRequest>& requests,
                                                     const GenerationConfig& config,
                                                     const GenerateOptions& options) const {
  return WithoutExceptions([&] { return impl_->Generate(requests, config, options); });
}

}  // namespace attnrun
