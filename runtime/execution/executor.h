// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_EXECUTOR_H_
#define ATTNRUN_EXECUTION_EXECUTOR_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "attnrun/limits.h"
#include "attnrun/run_options.h"
#include "core/interrupt.h"
#include "execution/plan.h"
#include "execution/run_queue.h"

namespace attnrun::exec {

// A step that has just run, with its tensors. No step overwrites its inputs while somebody
// observes.
struct FinishedStep {
  const Step& step;
  // True if the step's kernel ran, false if the reference code did.
  bool by_kernel;
  // Undefined where they are left out.
  absl::Span<const Tensor> inputs;
  absl::Span<const Tensor> outputs;
  Allocator& allocator;
};

// Called after each step, also after those in the bodies of If, Loop and Scan, on the thread of the
// run. The run ends with the observer's error.
using StepObserver = std::function<absl::Status(const FinishedStep&)>;

// How a plan runs.
struct RunContext {
  // Profile and observer; the others are in force through the members below.
  const RunOptions& options;
  Interrupt& interrupt;
  Allocator& allocator;
  // How often bodies of control flow may run.
  int64_t most_body_runs = Limits::kNone;
  // Asked between nodes for permits that have become free. May be null.
  RunPermits* permits = nullptr;
};

// The tensors of one run after another, whose vectors keep their memory.
struct RunBuffers {
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  // Used by Execute alone.
  std::vector<SlotTensor> frame;
};

// Runs the plan of a main graph once. `inputs` has one tensor per graph input, undefined to use its
// default. `outputs` receives one tensor per graph output. `observer` may be empty. Error messages
// begin with the node. Never throws. Thread-safe.
absl::Status Execute(const Plan& plan, absl::Span<const Tensor> inputs, const RunContext& context,
                     std::vector<Tensor>& outputs, const StepObserver& observer = {});

// Likewise on the tensors of `buffers`. The inputs are moved out, so that a step may overwrite
// those that nobody else holds.
absl::Status Execute(const Plan& plan, RunBuffers& buffers, const RunContext& context,
                     const StepObserver& observer = {});

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_EXECUTOR_H_
