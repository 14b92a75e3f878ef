// SPDX-License-Identifier: Apache-2.0
#include "state_use.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
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

absl::Status StateUse::Add(const TensorMap& inputs, State::Impl& state, const void* session) {
  if (state.session() != session) {
    return absl::InvalidArgumentError("the state belongs to another session");
  }
  for (const StateValue& value : state.values()) {
    if (!inputs.contains(value.input)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("input ", Quoted(value.input), " is carried by the state: leave it out"));
  }
  // An exception must not leave the state entered.
  states_.reserve(states_.size() + 1);
  if (!state.Enter()) {
    return absl::FailedPreconditionError("the state is used by another run");
  }
  states_.push_back(&state);
  return absl::OkStatus();
}

absl::StatusOr<StepResults> Divide(const std::vector<ValueInfo>& outputs,
                                   absl::Span<const StateValue> values,
                                   std::vector<Tensor> results) {
  std::map<absl::string_view, Tensor> left;
  for (size_t i = 0; i < results.size(); ++i) left[outputs[i].name] = std::move(results[i]);
  StepResults divided;
  for (const StateValue& value : values) {
    divided.carried.push_back(std::move(left.extract(value.output).mapped()));
  }
  for (auto& [name, tensor] : left) {
    ATTNRUN_ASSIGN_OR_RETURN(divided.outputs[std::string(name)], tensor.Dense());
  }
  return divided;
}

}  // namespace attnrun
