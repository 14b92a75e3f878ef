// SPDX-License-Identifier: Apache-2.0
#include "ops/composite/infer_steps.h"

#include "ops/composite/step_node.h"
#include "ops/interface/registry.h"

namespace attnrun::ops {

std::vector<ValueFacts> InferSteps::Ops(const std::string& op_type, int outputs,
                                        const std::vector<OptionalFacts>& inputs,
                                        AttributeMap attributes) {
  std::vector<ValueFacts> results(outputs);
  std::vector<const ValueFacts*> facts;
  std::vector<std::optional<Type>> types;
  for (const OptionalFacts& input : inputs) {
    facts.push_back(input.has_value() ? &*input : nullptr);
    types.push_back(input.has_value() ? std::optional(Type()) : std::nullopt);
  }
  Graph graph;
  const absl::StatusOr<const Node*> node =
      AddStep(graph, op_type, outputs, types, std::move(attributes));
  if (!node.ok()) return results;
  const auto op = OpRegistry::Get().Create(**node);
  if (!op.ok()) return results;
  const std::vector<const Tensor*> constants(inputs.size(), nullptr);
  InferContext context(facts, constants, absl::MakeSpan(results));
  (*op)->Infer(context);
  return results;
}

}  // namespace attnrun::ops
