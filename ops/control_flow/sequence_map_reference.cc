// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/control_flow/control_flow.h"

namespace attnrun::ops {
namespace {

// The tensors of iteration `i`.
std::vector<Tensor> InputsAt(const OpContext& context, int64_t i) {
  std::vector<Tensor> inputs;
  for (int k = 0; k < context.num_inputs(); ++k) {
    const Tensor& input = context.input(k);
    inputs.push_back(input.is_sequence() ? input.tensors()[i] : input);
  }
  return inputs;
}

absl::Status CheckLengths(const OpContext& context) {
  const Tensor& first = context.input(0);
  for (int k = 1; k < context.num_inputs(); ++k) {
    if (!context.has_input(k)) {
      return absl::InvalidArgumentError(absl::StrCat("input ", k, " is left out"));
    }
    const Tensor& input = context.input(k);
    if (!input.is_sequence() || input.num_elements() == first.num_elements()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("all sequences must be of one length, but input 0 is ", TypeAndShape(first),
                     " and input ", k, " is ", TypeAndShape(input)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SequenceMap::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckLengths(context));
  const size_t num_outputs = context.num_outputs();
  std::vector<Tensor> sequences(num_outputs);
  for (int64_t i = 0; i < context.input(0).num_elements(); ++i) {
    std::vector<Tensor> results;
    ATTNRUN_RETURN_IF_ERROR(context.subgraphs()->Run("body", InputsAt(context, i), results));
    if (results.size() != num_outputs) {
      return absl::InvalidArgumentError(absl::StrCat("the body gives ", results.size(),
                                                     " outputs, but the node has ", num_outputs));
    }
    for (size_t k = 0; k < num_outputs; ++k) {
      if (i == 0) {
        ATTNRUN_ASSIGN_OR_RETURN(sequences[k],
                                 Tensor::Sequence(results[k].type(), {}, context.allocator()));
      }
      ATTNRUN_ASSIGN_OR_RETURN(sequences[k],
                               sequences[k].Appended(results[k], context.allocator()));
    }
  }
  for (size_t k = 0; k < num_outputs; ++k) {
    if (!sequences[k].defined()) {
      const bool declared = k < declared_.size() && IsValid(declared_[k]);
      ATTNRUN_ASSIGN_OR_RETURN(sequences[k],
                               Tensor::Sequence(declared ? declared_[k] : DataType::kFloat, {}));
    }
    context.SetOutput(static_cast<int>(k), std::move(sequences[k]));
  }
  return absl::OkStatus();
}

}  // namespace attnrun::ops
