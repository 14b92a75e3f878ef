// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_STEP_RUN_H_
#define ATTNRUN_EXECUTION_STEP_RUN_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "execution/executor.h"
#include "execution/plan.h"

namespace attnrun::exec {

// State that a run of the main graph shares with the runs of its subgraphs.
struct RunState {
  const RunOptions& options;
  Allocator& allocator;
  Interrupt& interrupt;
  absl::Time start;
  const StepObserver& observer;
  const int64_t most_body_runs;
  // Those so far.
  int64_t& body_runs;
  // As in RunContext.
  RunPermits* const permits = nullptr;
};

// The tensors of one run of one plan.
class Frame {
 public:
  // `memory` is that of an earlier frame, which need not be allocated again.
  explicit Frame(const Plan& plan, std::vector<SlotTensor> memory = {})
      : constants_(plan.constants()), tensors_(std::move(memory)) {
    tensors_.clear();
    tensors_.resize(plan.num_slots() - constants_.size());
  }

  const Tensor& Get(int slot) const {
    const size_t index = slot;
    return index < constants_.size() ? constants_[index]
                                     : tensors_[index - constants_.size()].tensor;
  }
  Tensor Take(int slot) { return std::move(Mutable(slot)); }
  void Set(int slot, Tensor tensor) { Mutable(slot) = std::move(tensor); }
  // Not for constants.
  bool IsRounded(int slot) const { return tensors_[slot - constants_.size()].rounded; }
  void SetRounded(int slot, bool rounded) { tensors_[slot - constants_.size()].rounded = rounded; }
  void Clear(int slot) { Mutable(slot) = Tensor(); }
  std::vector<SlotTensor> TakeMemory() {
    tensors_.clear();
    return std::move(tensors_);
  }

 private:
  Tensor& Mutable(int slot) { return tensors_[slot - constants_.size()].tensor; }

  const std::vector<Tensor>& constants_;
  std::vector<SlotTensor> tensors_;
};

// Runs one step on the tensors of a frame, which receives its outputs. Error messages lack the
// node.
absl::Status RunStep(const Step& step, Frame& frame, const RunState& state);

// Runs a plan. `enclosing` is the frame of the graph around it; null for the main graph.
absl::Status RunPlan(const Plan& plan, absl::Span<const Tensor> inputs, const Frame* enclosing,
                     const RunState& state, std::vector<Tensor>& outputs);

// Moves the inputs of a run, one per graph input, to a frame: undefined ones get their defaults.
// kInvalidArgument if one is left out that has none.
absl::Status SetInputs(const Plan& plan, absl::Span<Tensor> inputs, Frame& frame);

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_STEP_RUN_H_
