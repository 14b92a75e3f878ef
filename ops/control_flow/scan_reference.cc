// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/control_flow/control_flow.h"
#include "ops/control_flow/slices.h"

namespace attnrun::ops {
namespace {

int64_t At(const std::vector<int64_t>& values, size_t i) {
  return i < values.size() ? values[i] : 0;
}

}  // namespace

absl::Status Scan::Reference(OpContext& context) const {
  const int64_t num_state = context.num_inputs() - num_scan_inputs_;
  if (num_scan_inputs_ < 1 || num_state < 0 || context.num_outputs() < num_state) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected num_scan_inputs from 1 to the number of inputs and at least one "
                     "output per state value, but num_scan_inputs is ",
                     num_scan_inputs_, " with ", context.num_inputs(), " inputs and ",
                     context.num_outputs(), " outputs"));
  }
  std::vector<int> axes;
  int64_t length = 0;
  for (int64_t i = 0; i < num_scan_inputs_; ++i) {
    const Tensor& sequence = context.input(static_cast<int>(num_state + i));
    ATTNRUN_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(At(input_axes_, i), sequence.rank()));
    if (i > 0 && sequence.dim(axis) != length) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected sequences of equal length, but found ", length, " and ",
                       sequence.dim(axis), " slices"));
    }
    length = sequence.dim(axis);
    axes.push_back(axis);
  }
  std::vector<Tensor> state;
  for (int i = 0; i < num_state; ++i) state.push_back(context.input(i));
  std::vector<Slices> scanned(context.num_outputs() - num_state, Slices(context.allocator()));
  for (int64_t step = 0; step < length; ++step) {
    std::vector<Tensor> inputs = std::move(state);
    for (int64_t i = 0; i < num_scan_inputs_; ++i) {
      const int64_t index = At(input_directions_, i) == 0 ? step : length - 1 - step;
      ATTNRUN_ASSIGN_OR_RETURN(inputs.emplace_back(),
                               SliceAt(context.input(static_cast<int>(num_state + i)), axes[i],
                                       index, context.allocator()));
    }
    std::vector<Tensor> results;
    ATTNRUN_RETURN_IF_ERROR(context.subgraphs()->Run("body", inputs, results));
    if (results.size() != static_cast<size_t>(context.num_outputs())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the body gives ", results.size(), " outputs, but the node has ", context.num_outputs()));
    }
    state.assign(results.begin(), results.begin() + num_state);
    for (size_t i = 0; i < scanned.size(); ++i) {
      ATTNRUN_RETURN_IF_ERROR(scanned[i].Add(results[num_state + i]));
    }
  }
  for (int i = 0; i < num_state; ++i) context.SetOutput(i, std::move(state[i]));
  for (size_t i = 0; i < scanned.size(); ++i) {
    if (At(output_directions_, i) != 0) scanned[i].Reverse();
    ATTNRUN_ASSIGN_OR_RETURN(Tensor stacked,
                             Stack(scanned[i].tensors(), At(output_axes_, i), context.allocator()));
    context.SetOutput(static_cast<int>(num_state + i), std::move(stacked));
  }
  return absl::OkStatus();
}

}  // namespace attnrun::ops
