// SPDX-License-Identifier: Apache-2.0
#include "optimizer/analysis/axes.h"

#include <memory>
#include <vector>

#include "ops/interface/registry.h"

namespace attnrun::opt {
namespace {

using FactsList = absl::InlinedVector<const ops::ValueFacts*, 6>;

ops::AxisRule RuleOf(const Node& node, absl::Span<const ops::ValueFacts* const> inputs,
                     absl::Span<const Tensor* const> constants,
                     absl::Span<const ops::ValueFacts* const> outputs) {
  ops::AxisRule rule;
  ops::AxesContext context(inputs, constants, outputs, rule);
  ops::OpRegistry::Get().AddAxes(node, context);
  return rule;
}

// The constants among the inputs; null for the others.
absl::InlinedVector<const Tensor*, 6> ConstantsOf(const Node& node) {
  absl::InlinedVector<const Tensor*, 6> constants;
  for (const Value* input : node.inputs()) {
    constants.push_back(input != nullptr && input->is_constant() ? input->constant() : nullptr);
  }
  return constants;
}

}  // namespace

ops::AxisRule AxesOf(const Node& node, Facts& facts) {
  FactsList inputs;
  FactsList outputs;
  for (const Value* input : node.inputs()) {
    inputs.push_back(input == nullptr ? nullptr : &facts.Of(input));
  }
  for (const Value* output : node.outputs()) {
    outputs.push_back(output == nullptr ? nullptr : &facts.Of(output));
  }
  return RuleOf(node, inputs, ConstantsOf(node), outputs);
}

ops::AxisRule AxesOf(const Node& node, absl::Span<const ops::ValueFacts* const> inputs) {
  std::vector<ops::ValueFacts> inferred(node.outputs().size());
  const absl::StatusOr<std::unique_ptr<ops::Op>> op = ops::OpRegistry::Get().Create(node);
  if (!op.ok()) return {};
  // Constants are not looked at: a transposed operand has other elements than the constant.
  const std::vector<const Tensor*> constants(inputs.size(), nullptr);
  ops::InferContext context(inputs, constants, absl::MakeSpan(inferred));
  (*op)->Infer(context);
  FactsList outputs;
  for (size_t i = 0; i < inferred.size(); ++i) {
    outputs.push_back(node.output(i) == nullptr ? nullptr : &inferred[i]);
  }
  return RuleOf(node, inputs, constants, outputs);
}

}  // namespace attnrun::opt
