// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_MODEL_RUN_H_
#define ATTNRUN_TOOLS_ATTNRUN_MODEL_RUN_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attnrun/session.h"
#include "tools/attnrun/options.h"

namespace attnrun::cli {

// A model that is ready to run, and its inputs.
struct PreparedModel {
  Session session;
  TensorMap inputs;
  absl::Duration load_time;
  // See MadeUpHint.
  std::string made_up = {};
  LazyFitter fitter = LazyFitter("");
};

// Loads the model of the command line and gathers its inputs. Messages name the model.
absl::StatusOr<PreparedModel> Prepare(const Options& options);

// Gathers the inputs of a model that is loaded, as `inputs` says.
absl::Status GatherFor(const Options& options, const InputOptions& inputs, PreparedModel& model);

struct RunResult {
  TensorMap outputs;
  absl::Duration time;
};

// Runs the model once. If it refuses inputs that were made up, others are made up of other extents:
// a model may take only images whose sides it can halve five times, or the batch that it was
// exported with, without saying so. The inputs with which it runs stay.
absl::StatusOr<RunResult> FirstRun(const Options& options, PreparedModel& model);

// Runs the model once. Messages name the model, and say so if inputs were made up.
absl::StatusOr<RunResult> TimedRun(const Options& options, const PreparedModel& model,
                                   const RunOptions& run_options = {});

// Does the same with `inputs` in place of the model's.
absl::StatusOr<RunResult> TimedRun(const Options& options, const PreparedModel& model,
                                   const TensorMap& inputs, const RunOptions& run_options);

// "optimized", "unoptimized" or "reference".
std::string EngineName(Engine engine);

// "12.3 ms".
std::string TimeText(absl::Duration time);

// The tensors as a list in the order of `declared`.
std::vector<std::pair<std::string, Tensor>> InOrder(const TensorMap& tensors,
                                                    const std::vector<ValueInfo>& declared);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_MODEL_RUN_H_
