// SPDX-License-Identifier: Apache-2.0
#include "attnrun/generator.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/exceptions.h"
#include "core/status.h"
#include "generation/scheduler.h"
#include "generator_model.h"
#include "task_maker.h"
#include "transcription.h"

namespace attnrun {
namespace {

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
        tasks_(*model_),
        scheduler_(model_->decoder, MakeDraft(draft_.get(), sessions_.decoder.vocabulary),
                   options) {
    if (!sessions_.encoder.has_value()) return;
    window_frames_ = WindowFrames(encoder_inputs(), folder_.facts.max_source_positions);
  }

  const GenerationConfig& config() const { return folder_.config; }
  const std::vector<ValueInfo>& encoder_inputs() const { return tasks_.encoder_inputs(); }
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
    if (model_->IsWhisper() && window_frames_.has_value()) {
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
      absl::StatusOr<gen::Task> task = tasks_.Make(requests[i], config, run);
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
      absl::StatusOr<gen::Task> task = tasks_.Make(window.request, settings.config, run);
      if (!task.ok()) return Annotate(task.status(), gen::NameOfPrompt(window.number, requests));
      window.request.prompt = task->prompt.ids;
      tasks.push_back(*std::move(task));
    }
    GenerationResult result;
    ATTNRUN_RETURN_IF_ERROR(scheduler_.Run(std::move(tasks), settings, run, {}, result));
    return result;
  }

  const std::unique_ptr<const GeneratorModel> model_;
  const std::unique_ptr<const GeneratorModel> draft_;
  const gen::ModelFolder& folder_;
  const ModelSessions& sessions_;
  const TaskMaker tasks_;
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
    ATTNRUN_ASSIGN_OR_RETURN(auto model, GeneratorModel::Load(path, options));
    std::unique_ptr<const GeneratorModel> draft;
    if (!generation.draft.empty()) {
      ATTNRUN_ASSIGN_OR_RETURN(draft, GeneratorModel::Load(generation.draft, options));
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
