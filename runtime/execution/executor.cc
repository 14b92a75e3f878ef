// SPDX-License-Identifier: Apache-2.0
#include "execution/executor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/exceptions.h"
#include "core/interrupt.h"
#include "core/quote.h"
#include "core/status.h"
#include "execution/step_run.h"

namespace attnrun::exec {

namespace {

// Runs the steps on a frame that has the inputs.
absl::Status RunSteps(const Plan& plan, Frame& frame, const RunState& state,
                      std::vector<Tensor>& outputs) {
  for (const Step& step : plan.steps()) {
    const absl::Status status = RunStep(step, frame, state);
    if (!status.ok()) return Annotate(status, step.node->description());
  }
  outputs.clear();
  outputs.reserve(plan.outputs().size());
  for (const int slot : plan.outputs()) outputs.push_back(frame.Get(slot));
  return absl::OkStatus();
}

}  // namespace

absl::Status SetInputs(const Plan& plan, absl::Span<Tensor> inputs, Frame& frame) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value* value = plan.graph().inputs()[i];
    const bool has_default = value->constant() != nullptr;
    if (!inputs[i].defined() && !has_default && !IsOptional(value->type().kind)) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", Quoted(value->name()), " is left out"));
    }
    if (inputs[i].defined() || !has_default) {
      frame.Set(plan.inputs()[i], std::move(inputs[i]));
    } else {
      frame.Set(plan.inputs()[i], *value->constant());
    }
  }
  return absl::OkStatus();
}

absl::Status RunPlan(const Plan& plan, absl::Span<const Tensor> inputs, const Frame* enclosing,
                     const RunState& state, std::vector<Tensor>& outputs) {
  Frame frame(plan);
  std::vector<Tensor> own(inputs.begin(), inputs.end());
  ATTNRUN_RETURN_IF_ERROR(SetInputs(plan, absl::MakeSpan(own), frame));
  for (const auto& [here, outside] : plan.captures()) frame.Set(here, enclosing->Get(outside));
  return RunSteps(plan, frame, state, outputs);
}

absl::Status Execute(const Plan& plan, RunBuffers& buffers, const RunContext& context,
                     const StepObserver& observer) {
  const InterruptScope scope(&context.interrupt);
  int64_t body_runs = 0;
  const RunState state = {context.options, context.allocator, context.interrupt,
                          absl::Now(),     observer,          context.most_body_runs,
                          body_runs,       context.permits};
  // Compute catches exceptions where the node is known; this catches the others, such as those of
  // the observers.
  return WithoutExceptions([&]() -> absl::Status {
    Frame frame(plan, std::move(buffers.frame));
    ATTNRUN_RETURN_IF_ERROR(SetInputs(plan, absl::MakeSpan(buffers.inputs), frame));
    ATTNRUN_RETURN_IF_ERROR(RunSteps(plan, frame, state, buffers.outputs));
    buffers.frame = frame.TakeMemory();
    return absl::OkStatus();
  });
}

absl::Status Execute(const Plan& plan, absl::Span<const Tensor> inputs, const RunContext& context,
                     std::vector<Tensor>& outputs, const StepObserver& observer) {
  return WithoutExceptions([&]() -> absl::Status {
    RunBuffers buffers;
    buffers.inputs.assign(inputs.begin(), inputs.end());
    ATTNRUN_RETURN_IF_ERROR(Execute(plan, buffers, context, observer));
    outputs = std::move(buffers.outputs);
    return absl::OkStatus();
  });
}

}  // namespace attnrun::exec
