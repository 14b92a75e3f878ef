// SPDX-License-Identifier: Apache-2.0
#include "optimizer/analysis/axes.h"

#include <iterator>
#include <memory>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
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

bool FollowsInputs(const Node& node, const ops::AxisTrack& track, Facts& facts) {
  // An extent that no other axis has, and 1, at which axes may be dropped or broadcast.
  const SymInt extents[] = {SymInt::Opaque("other", SymInt::Symbol("extent"), 0), 1};
  return absl::c_all_of(extents, [&](const SymInt& extent) {
    std::vector<std::optional<ops::ValueFacts>> inputs(node.inputs().size());
    FactsList known;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (node.input(i) != nullptr) inputs[i] = facts.Of(node.input(i));
      known.push_back(inputs[i].has_value() ? &*inputs[i] : nullptr);
      if (track.inputs[i] == ops::AxisTrack::kNone) continue;
      if (!inputs[i]->dims.has_value()) return false;
      (*inputs[i]->dims)[track.inputs[i]] = extent;
      inputs[i]->contents.reset();
    }
    const std::vector<ops::ValueFacts> outputs = InferFrom(node, known);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (track.outputs[i] == ops::AxisTrack::kNone) continue;
      if (!outputs[i].dims.has_value()) return false;
      const int rank = facts.RankOf(node.output(i));
      const std::vector<SymInt>& dims = *outputs[i].dims;
      if (std::ssize(dims) != rank || dims[track.outputs[i]] != extent) return false;
    }
    return true;
  });
}

std::vector<ops::ValueFacts> InferFrom(const Node& node,
                                       absl::Span<const ops::ValueFacts* const> inputs) {
  std::vector<ops::ValueFacts> inferred(node.outputs().size());
  const absl::StatusOr<std::unique_ptr<ops::Op>> op = ops::OpRegistry::Get().Create(node);
  if (!op.ok()) return inferred;
  // Constants are not looked at: other operands have other elements than the constants.
  const std::vector<const Tensor*> constants(inputs.size(), nullptr);
  ops::InferContext context(inputs, constants, absl::MakeSpan(inferred));
  (*op)->Infer(context);
  return inferred;
}

ops::AxisRule AxesOf(const Node& node, absl::Span<const ops::ValueFacts* const> inputs) {
  const std::vector<ops::ValueFacts> inferred = InferFrom(node, inputs);
  const std::vector<const Tensor*> constants(inputs.size(), nullptr);
  FactsList outputs;
  for (size_t i = 0; i < inferred.size(); ++i) {
    outputs.push_back(node.output(i) == nullptr ? nullptr : &inferred[i]);
  }
  return RuleOf(node, inputs, constants, outputs);
}

}  // namespace attnrun::opt
