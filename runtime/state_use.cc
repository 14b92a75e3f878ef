// SPDX-License-Identifier: Apache-2.0
#include "state_use.h"

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/quote.h"
#include "core/status.h"

namespace attnrun {

StateUse::~StateUse() {
  for (State::Impl* state : states_) {
    if (!keeps_) state->Retreat();
    state->Leave();
  }
}

absl::StatusOr<State::Impl*> StateUse::Add(const TensorMap& inputs, State& state,
                                           const StateLayout& layout) {
  State::Impl* const impl = state.impl_.get();
  if (impl == nullptr) return absl::InvalidArgumentError("the state was moved to another one");
  if (&impl->layout() != &layout) {
    return absl::InvalidArgumentError("the state belongs to another session");
  }
  for (const StateValue& value : layout.values) {
    if (!inputs.contains(value.input)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("input ", Quoted(value.input), " is carried by the state: leave it out"));
  }
  if (!impl->Enter())
    return absl::FailedPreconditionError("the state is used by another run or request");
  // An exception must not leave the state entered.
  absl::Cleanup leave = [impl] { impl->Leave(); };
  states_.push_back(impl);
  std::move(leave).Cancel();
  return impl;
}

absl::Status StateUse::Keep() {
  // All tensors that need memory first.
  for (State::Impl* state : states_) ATTNRUN_RETURN_IF_ERROR(state->Own());
  for (State::Impl* state : states_) state->Advance();
  keeps_ = true;
  return absl::OkStatus();
}

absl::StatusOr<TensorMap> OutputsOf(const std::vector<ValueInfo>& outputs,
                                    absl::Span<const int> given, absl::Span<const Tensor> results) {
  TensorMap map;
  for (const int i : given) {
    ATTNRUN_ASSIGN_OR_RETURN(map[outputs[i].name], results[i].Dense());
  }
  return map;
}

}  // namespace attnrun
