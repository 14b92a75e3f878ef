// SPDX-License-Identifier: Apache-2.0
#include "execution/executor.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/exceptions.h"
#include "core/interrupt.h"
#include "core/quote.h"
#include "core/status.h"
#include "execution/step_run.h"

namespace attnrun::exec {

absl::Status SetInputs(const Plan& plan, absl::Span<const Tensor> inputs, Frame& frame) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value* value = plan.graph().inputs()[i];
    const bool has_default = value->constant() != nullptr;
    if (!inputs[i].defined() && !has_default && !IsOptional(value->type().kind)) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", Quoted(value->name()), " is left out"));
    }
    const bool given = inputs[i].defined() || !has_default;
    frame.Set(plan.inputs()[i], given ? inputs[i] : *value->constant());
  }
  return absl::OkStatus();
}

absl::Status RunPlan(const Plan& plan, absl::Span<const Tensor> inputs, const Frame* enclosing,
                     const RunState& state, std::vector<Tensor>& outputs) {
  Frame frame(plan);
  ATTNRUN_RETURN_IF_ERROR(SetInputs(plan, inputs, frame));
  for (const auto& [here, outside] : plan.captures()) frame.Set(here, enclosing->Get(outside));
  for (const Step& step : plan.steps()) {
    const absl::Status status = RunStep(step, frame, state);
    if (!status.ok()) return Annotate(status, step.node->description());
  }
  outputs.clear();
  for (const int slot : plan.outputs()) outputs.push_back(frame.Get(slot));
  return absl::OkStatus();
}

absl::Status Execute(const Plan& plan, absl::Span<const Tensor> inputs, const RunContext& context,
                     std::vector<Tensor>& outputs, const StepObserver& observer) {
  const InterruptScope scope(&context.interrupt);
  int64_t body_runs = 0;
  const RunState state = {context.options, context.allocator,      context.interrupt, absl::Now(),
                          observer,        context.most_body_runs, body_runs};
  // Compute catches exceptions where the node is known; this catches the others, such as those of
  // the observers.
  return WithoutExceptions([&] { return RunPlan(plan, inputs, nullptr, state, outputs); });
}

}  // namespace attnrun::exec
