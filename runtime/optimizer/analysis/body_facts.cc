// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "optimizer/analysis/facts.h"
#include "optimizer/analysis/node_queries.h"

namespace attnrun::opt {
namespace {

// The number of a Loop's inputs before the carried values, and of its body's inputs before them.
constexpr size_t kLoopOperands = 2;
constexpr size_t kBodyOperands = 2;
constexpr size_t kBodyResults = 1;

const Graph* BodyOf(const Node& node, const std::string& attribute) {
  const AttributeValue* value = node.attribute(attribute);
  const auto* body = value == nullptr ? nullptr : std::get_if<std::shared_ptr<Graph>>(value);
  return body == nullptr ? nullptr : body->get();
}

// The facts that hold in both cases. An extent that differs becomes unknown and is noted in
// `differing`.
ops::ValueFacts Common(const ops::ValueFacts& a, const ops::ValueFacts& b,
                       std::vector<SymInt>& differing) {
  ops::ValueFacts common;
  if (a.type == b.type) common.type = a.type;
  if (!a.dims.has_value() || !b.dims.has_value() || a.dims->size() != b.dims->size()) return common;
  common.dims.emplace();
  for (size_t i = 0; i < a.dims->size(); ++i) {
    const SymInt& extent = (*a.dims)[i];
    const bool same = extent == (*b.dims)[i] || absl::c_linear_search(differing, extent);
    if (!same) differing.push_back(SymInt::Unknown());
    common.dims->push_back(same ? extent : differing.back());
  }
  return common;
}

bool SameTypeAndExtents(const ops::ValueFacts& a, const ops::ValueFacts& b) {
  return a.type == b.type && a.dims == b.dims;
}

// The facts about carried values that hold before the first iteration and that each iteration
// preserves; none for other nodes than Loops.
std::vector<ops::ValueFacts> CarriedFacts(const Node& loop, const Graph& body, Facts& facts) {
  if (!IsOp(&loop, "Loop")) return {};
  if (body.inputs().size() < kBodyOperands || loop.inputs().size() < kLoopOperands) return {};
  std::vector<ops::ValueFacts> inputs = {{DataType::kInt64, std::vector<SymInt>{}, std::nullopt},
                                         {DataType::kBool, std::nullopt, std::nullopt}};
  for (size_t i = kLoopOperands; i < loop.inputs().size(); ++i) {
    if (loop.input(i) == nullptr) return {};
    // The contents change from one iteration to the next.
    const ops::ValueFacts& initial = facts.Of(loop.input(i));
    inputs.push_back({initial.type, initial.dims, std::nullopt});
  }
  if (body.inputs().size() != inputs.size()) return {};
  // Each round drops the facts that an iteration changes. Gives up after a few rounds.
  constexpr int kMostRounds = 4;
  std::vector<SymInt> changing;
  for (int round = 0; round < kMostRounds; ++round) {
    Facts inside(body, facts, inputs);
    bool lasts = true;
    for (size_t i = kBodyOperands; i < inputs.size(); ++i) {
      const size_t result = kBodyResults + i - kBodyOperands;
      if (result >= body.outputs().size()) return {};
      ops::ValueFacts common = Common(inputs[i], inside.Of(body.outputs()[result]), changing);
      if (SameTypeAndExtents(inputs[i], common)) continue;
      inputs[i] = std::move(common);
      lasts = false;
    }
    if (lasts) return inputs;
  }
  inputs.resize(kBodyOperands);
  return inputs;
}

void InferIf(const Node& node, Facts& facts, std::vector<ops::ValueFacts>& outputs) {
  const Graph* then_branch = BodyOf(node, "then_branch");
  const Graph* else_branch = BodyOf(node, "else_branch");
  if (then_branch == nullptr || else_branch == nullptr) return;
  Facts of_then(*then_branch, facts);
  Facts of_else(*else_branch, facts);
  const size_t count =
      std::min({outputs.size(), then_branch->outputs().size(), else_branch->outputs().size()});
  for (size_t i = 0; i < count; ++i) {
    std::vector<SymInt> differing;
    outputs[i] = Common(of_then.Of(then_branch->outputs()[i]),
                        of_else.Of(else_branch->outputs()[i]), differing);
  }
}

void InferLoop(const Node& node, Facts& facts, std::vector<ops::ValueFacts>& outputs) {
  const Graph* body = BodyOf(node, "body");
  if (body == nullptr) return;
  const std::vector<ops::ValueFacts> carried = CarriedFacts(node, *body, facts);
  for (size_t i = kBodyOperands; i < carried.size() && i - kBodyOperands < outputs.size(); ++i) {
    outputs[i - kBodyOperands] = carried[i];
  }
}

}  // namespace

std::vector<ops::ValueFacts> BodyInputFacts(const Node& node, const std::string& attribute,
                                            Facts& facts) {
  const Graph* body = BodyOf(node, attribute);
  return body == nullptr ? std::vector<ops::ValueFacts>() : CarriedFacts(node, *body, facts);
}

void InferFromBodies(const Node& node, Facts& facts, std::vector<ops::ValueFacts>& outputs) {
  InferIf(node, facts, outputs);
  InferLoop(node, facts, outputs);
}

}  // namespace attnrun::opt
