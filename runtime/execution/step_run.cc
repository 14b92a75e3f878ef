// SPDX-License-Identifier: Apache-2.0
#include "execution/step_run.h"

#include <bit>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/interrupt.h"
#include "core/status.h"
#include "execution/compute.h"
#include "ops/interface/registry.h"

namespace attnrun::exec {
namespace {

// Called between nodes.
absl::Status CheckInterrupted(Interrupt& interrupt) {
  return interrupt.Check() ? interrupt.status() : absl::OkStatus();
}

// Runs the subgraphs of one step, which may capture values of `frame`.
class StepSubgraphs final : public ops::SubgraphRunner {
 public:
  StepSubgraphs(const Step& step, const Frame& frame, const RunState& state)
      : step_(step), frame_(frame), state_(state) {}

  absl::Status Run(absl::string_view attribute, absl::Span<const Tensor> inputs,
                   std::vector<Tensor>& outputs) override {
    // A graph without nodes checks nowhere else, and a loop over it may never end.
    ATTNRUN_RETURN_IF_ERROR(CheckInterrupted(state_.interrupt));
    if (++state_.body_runs > state_.most_body_runs) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the bodies of If, Loop, Scan and SequenceMap run more than ",
                       state_.most_body_runs, " times, which is the limit"));
    }
    const auto it = step_.subgraphs.find(attribute);
    if (it == step_.subgraphs.end()) {
      return absl::InvalidArgumentError(absl::StrCat("there is no graph '", attribute, "'"));
    }
    const Plan& plan = *it->second;
    if (inputs.size() != plan.inputs().size()) {
      return absl::InvalidArgumentError(absl::StrCat("graph '", attribute, "' has ",
                                                     plan.inputs().size(), " inputs, but ",
                                                     inputs.size(), " are given"));
    }
    return RunPlan(plan, inputs, &frame_, state_, outputs);
  }

 private:
  const Step& step_;
  const Frame& frame_;
  const RunState& state_;
};

class StepRun {
 public:
  StepRun(const Step& step, Frame& frame, const RunState& state)
      : step_(step), frame_(frame), state_(state), outputs_(step.outputs.size()) {}

  absl::Status Run() {
    ATTNRUN_RETURN_IF_ERROR(CheckInterrupted(state_.interrupt));
    if (state_.permits != nullptr) state_.permits->Adapt();
    const absl::Time begin = state_.options.profile != nullptr ? absl::Now() : absl::Time();
    GatherInputs();
    ops::OpContext context(inputs_, absl::MakeSpan(outputs_), state_.allocator);
    StepSubgraphs subgraphs(step_, frame_, state_);
    context.set_subgraphs(&subgraphs);
    context.set_exclusive(exclusive_);
    context.set_unwanted(unwanted_);
    context.set_rounding(step_.stores_bf16, RoundedInputs());
    ATTNRUN_ASSIGN_OR_RETURN(by_kernel_, Compute(step_, absl::MakeSpan(inputs_), context));
    // A kernel that noticed the interrupt skipped work, so its outputs are not valid.
    ATTNRUN_RETURN_IF_ERROR(state_.interrupt.status());
    if (state_.options.profile != nullptr) AddEvent(context, begin);
    if (state_.observer) ATTNRUN_RETURN_IF_ERROR(ShowToObserver());
    // Values that are bfloat16 in the model are not rounded.
    if (step_.stores_bf16) frame_.SetRounded(step_.outputs[0], context.rounds_output());
    return StoreOutputs();
  }

 private:
  void GatherInputs() {
    for (const InputRef& input : step_.inputs) {
      if (input.slot < 0) {
        inputs_.emplace_back();
      } else {
        inputs_.push_back(input.last_use ? frame_.Take(input.slot) : frame_.Get(input.slot));
      }
    }
    const bool overwrites = !state_.observer;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      exclusive_.push_back(overwrites && step_.inputs[i].last_use && inputs_[i].is_exclusive());
    }
    for (const int slot : step_.outputs) unwanted_.push_back(slot < 0);
  }

  uint64_t RoundedInputs() const {
    uint64_t rounded = 0;
    for (uint64_t left = step_.rounded; left != 0; left &= left - 1) {
      const int input = std::countr_zero(left);
      if (frame_.IsRounded(step_.inputs[input].slot)) rounded |= uint64_t{1} << input;
    }
    return rounded;
  }

  void AddEvent(const ops::OpContext& context, absl::Time begin) {
    ProfileEvent event;
    event.node = step_.node->name();
    event.op_type = step_.node->qualified_op_type();
    event.kernel = by_kernel_ ? std::string(step_.kernel->name()) : "reference";
    event.start = begin - state_.start;
    event.duration = absl::Now() - begin;
    if (by_kernel_) event.flops = step_.kernel->Flops(context);
    state_.options.profile->push_back(std::move(event));
  }

  // The observer may run kernels, which skip work as the step's own kernel does.
  absl::Status ShowToObserver() {
    ATTNRUN_RETURN_IF_ERROR(
        state_.observer({step_, by_kernel_, inputs_, outputs_, state_.allocator}));
    return state_.interrupt.status();
  }

  absl::Status StoreOutputs() {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (step_.outputs[i] < 0) continue;
      if (!outputs_[i].defined()) ATTNRUN_RETURN_IF_ERROR(CheckMayLack(i));
      if (state_.options.observer) {
        state_.options.observer(step_.node->outputs()[i]->name(), outputs_[i]);
      }
      frame_.Set(step_.outputs[i], std::move(outputs_[i]));
    }
    for (const int slot : step_.dead) frame_.Clear(slot);
    return absl::OkStatus();
  }

  // Only an optional may lack a tensor.
  absl::Status CheckMayLack(size_t output) const {
    const ValueKind kind = step_.node->outputs()[output]->type().kind;
    if (IsOptional(kind)) return absl::OkStatus();
    if (ops::TraitsOf(*step_.node).kinds == nullptr) {
      return absl::InternalError(absl::StrCat("output ", output, " was not computed"));
    }
    return absl::InvalidArgumentError(absl::StrCat("output ", output, " is an optional without an ",
                                                   "element, but must be a ", Name(kind)));
  }

  const Step& step_;
  Frame& frame_;
  const RunState& state_;
  // Most nodes have fewer; attention may have more.
  absl::InlinedVector<Tensor, 12> inputs_;
  absl::InlinedVector<Tensor, 4> outputs_;
  absl::InlinedVector<bool, 12> exclusive_;
  absl::InlinedVector<bool, 8> unwanted_;
  bool by_kernel_ = false;
};

}  // namespace

absl::Status RunStep(const Step& step, Frame& frame, const RunState& state) {
  return StepRun(step, frame, state).Run();
}

}  // namespace attnrun::exec
