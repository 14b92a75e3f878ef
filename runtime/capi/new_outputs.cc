// SPDX-License-Identifier: Apache-2.0
#include "new_outputs.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/quote.h"
#include "core/status.h"
#include "run.h"

namespace attnrun::capi {
namespace {

// kInvalidArgument unless `name` is an output of the model and, in a step, not carried.
absl::Status CheckIsResult(const Session& session, bool step, const std::string& name) {
  const auto is_name = [&](const ValueInfo& info) { return info.name == name; };
  const auto is_carried = [&](const StateValue& value) { return step && value.output == name; };
  if (absl::c_any_of(session.outputs(), is_name) &&
      absl::c_none_of(session.state_values(), is_carried)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no output ", Quoted(name), step ? " of a step" : ""));
}

}  // namespace

absl::StatusOr<NewOutputs> NewOutputs::Make(const Session& session, bool step,
                                            const char* const* names,
                                            attnrun_tensor* const* outputs, size_t count) {
  ATTNRUN_RETURN_IF_ERROR(OutputsByName(names, outputs, count).status());
  NewOutputs made;
  for (size_t i = 0; i < count; ++i) {
    ATTNRUN_RETURN_IF_ERROR(CheckIsResult(session, step, names[i]));
    if (outputs[i] != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "new tensors are made here, but one is given for output ", Quoted(names[i])));
    }
    made.places_.push_back({names[i], std::make_unique<attnrun_tensor>()});
  }
  return made;
}

void NewOutputs::Fill(TensorMap& results, attnrun_tensor** outputs) {
  for (size_t i = 0; i < places_.size(); ++i) {
    places_[i].tensor->tensor = std::move(results.find(places_[i].name)->second);
    outputs[i] = places_[i].tensor.release();
  }
}

}  // namespace attnrun::capi
