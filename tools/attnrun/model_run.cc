// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/model_run.h"

#include <chrono>

#include "absl/strings/str_format.h"
#include "core/status.h"
#include "tools/attnrun/inputs.h"

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

}  // namespace

absl::StatusOr<PreparedModel> Prepare(const Options& options) {
  const Stopwatch watch;
  ATTNRUN_ASSIGN_OR_RETURN(Session session, Session::Load(options.model, options.session));
  const absl::Duration load_time = watch.Elapsed();
  absl::StatusOr<TensorMap> inputs = GatherInputs(session.inputs(), options.inputs);
  if (!inputs.ok()) return Annotate(inputs.status(), options.model);
  return PreparedModel{std::move(session), *std::move(inputs), load_time};
}

absl::StatusOr<RunResult> TimedRun(const Options& options, const PreparedModel& model,
                                   const RunOptions& run_options) {
  const Stopwatch watch;
  absl::StatusOr<TensorMap> outputs = model.session.Run(model.inputs, run_options);
  if (!outputs.ok()) return Annotate(outputs.status(), options.model);
  return RunResult{*std::move(outputs), watch.Elapsed()};
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
