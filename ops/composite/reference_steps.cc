// SPDX-License-Identifier: Apache-2.0
#include "ops/composite/reference_steps.h"

#include <optional>

#include "core/status.h"
#include "graph/type.h"
#include "ops/composite/run_node.h"
#include "ops/composite/step_node.h"

namespace attnrun::ops {

absl::StatusOr<std::vector<Tensor>> RunStep(const std::string& op_type, int outputs,
                                            absl::Span<const Tensor> inputs,
                                            AttributeMap attributes, Allocator& allocator) {
  std::vector<std::optional<Type>> types;
  for (const Tensor& input : inputs) {
    types.push_back(input.defined() ? std::optional(TypeOf(input)) : std::nullopt);
  }
  Graph graph;
  ATTNRUN_ASSIGN_OR_RETURN(const Node* node,
                           AddStep(graph, op_type, outputs, types, std::move(attributes)));
  return RunReference(*node, inputs, allocator);
}

std::vector<Tensor> ReferenceSteps::Ops(const std::string& op_type, int outputs,
                                        const std::vector<Tensor>& inputs,
                                        AttributeMap attributes) {
  if (status_.ok()) {
    absl::StatusOr<std::vector<Tensor>> results =
        RunStep(op_type, outputs, inputs, std::move(attributes), context_.allocator());
    if (results.ok()) return *std::move(results);
    status_ = results.status();
  }
  return std::vector<Tensor>(outputs);
}

Tensor ReferenceSteps::Ints(const std::vector<int64_t>& values) {
  const auto count = static_cast<int64_t>(values.size());
  absl::StatusOr<Tensor> tensor = Tensor::Of<int64_t>({count}, values);
  if (tensor.ok()) return *std::move(tensor);
  status_.Update(tensor.status());
  return Tensor();
}

absl::Status ReferenceSteps::Give(Tensor tensor, int i) {
  if (status_.ok() && context_.wants_output(i)) context_.SetOutput(i, std::move(tensor));
  return status_;
}

}  // namespace attnrun::ops
