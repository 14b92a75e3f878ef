// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/model_run.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/status.h"
#include "tools/attnrun/interrupt_guard.h"

namespace attnrun::cli {
namespace {

// Uses a steady clock, because the wall clock may be set while a model runs.
class Stopwatch {
 public:
  absl::Duration Elapsed() const {
    return absl::FromChrono(std::chrono::steady_clock::now() - begin_);
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Sizes that models are exported and published with.
constexpr DefaultExtents kOtherExtents[] = {{2, 16, 224, 16000, 1024}, {1, 8, 64, 400, 100},
                                            {2, 8, 64, 400, 100},      {1, 12, 256, 1600, 128},
                                            {1, 32, 32, 320, 32},      {2, 32, 32, 320, 32},
                                            {1, 64, 384, 8000, 512},   {1, 128, 512, 512, 64},
                                            {1, 7, 96, 48000, 200},    {1, 512, 640, 32000, 300}};
constexpr absl::Duration kTimeToTry = absl::Seconds(20);

}  // namespace

absl::StatusOr<PreparedModel> Prepare(const Options& options) {
  const Stopwatch watch;
  ATTNRUN_ASSIGN_OR_RETURN(Session session, Session::Load(options.model, options.session));
  const absl::Duration load_time = watch.Elapsed();
  PreparedModel model{std::move(session), {}, load_time, {}, LazyFitter(options.model)};
  ATTNRUN_RETURN_IF_ERROR(GatherFor(options, options.inputs, model));
  return model;
}

absl::Status GatherFor(const Options& options, const InputOptions& inputs, PreparedModel& model) {
  absl::StatusOr<GatheredInputs> gathered =
      GatherInputs(model.session.inputs(), inputs, model.fitter);
  if (!gathered.ok()) return Annotate(gathered.status(), options.model);
  model.made_up = MadeUpHint(*gathered);
  model.inputs = std::move(gathered->tensors);
  return absl::OkStatus();
}

absl::StatusOr<RunResult> TimedRun(const Options& options, const PreparedModel& model,
                                   const RunOptions& run_options) {
  return TimedRun(options, model, model.inputs, run_options);
}

absl::StatusOr<RunResult> TimedRun(const Options& options, const PreparedModel& model,
                                   const TensorMap& inputs, const RunOptions& run_options) {
  RunOptions limited = run_options;
  limited.cancel = &InterruptFlag();
  if (options.timeout.has_value()) {
    limited.deadline = std::min(limited.deadline, absl::Now() + absl::Seconds(*options.timeout));
  }
  const Stopwatch watch;
  absl::StatusOr<TensorMap> outputs = model.session.Run(inputs, limited);
  if (!outputs.ok()) {
    const bool blames_inputs = absl::IsInvalidArgument(outputs.status()) && !model.made_up.empty();
    return absl::Status(
        outputs.status().code(),
        absl::StrCat(options.model, ": ", outputs.status().message(), blames_inputs ? "; " : "",
                     blames_inputs ? model.made_up : ""));
  }
  return RunResult{*std::move(outputs), watch.Elapsed()};
}

absl::StatusOr<RunResult> FirstRun(const Options& options, PreparedModel& model) {
  absl::StatusOr<RunResult> first = TimedRun(options, model);
  if (!absl::IsInvalidArgument(first.status()) || model.made_up.empty()) return first;
  const TensorMap inputs = model.inputs;
  const std::string made_up = model.made_up;
  RunOptions limits;
  limits.deadline = absl::Now() + kTimeToTry;
  for (const DefaultExtents& defaults : kOtherExtents) {
    if (absl::Now() > limits.deadline) break;
    InputOptions others = options.inputs;
    others.defaults = defaults;
    if (!GatherFor(options, others, model).ok() || model.made_up == made_up) continue;
    absl::StatusOr<RunResult> result = TimedRun(options, model, limits);
    if (result.ok()) return result;
  }
  model.inputs = inputs;
  model.made_up = made_up;
  return first;
}

std::string EngineName(Engine engine) {
  switch (engine) {
    case Engine::kOptimized:
      return "optimized";
    case Engine::kUnoptimized:
      return "unoptimized";
    case Engine::kReference:
      break;
  }
  return "reference";
}

std::string TimeText(absl::Duration time) {
  return absl::StrFormat("%.3g ms", absl::ToDoubleMilliseconds(time));
}

std::vector<std::pair<std::string, Tensor>> InOrder(const TensorMap& tensors,
                                                    const std::vector<ValueInfo>& declared) {
  std::vector<std::pair<std::string, Tensor>> ordered;
  for (const ValueInfo& info : declared) {
    const auto it = tensors.find(info.name);
    if (it != tensors.end()) ordered.emplace_back(*it);
  }
  return ordered;
}

}  // namespace attnrun::cli
