// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/attention/sinks.h"

#include "absl/algorithm/container.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/pads.h"
#include "optimizer/analysis/trace.h"

namespace attnrun::opt {
namespace {

bool HasOneColumn(const Value* value, Facts& facts) {
  const std::vector<SymInt>* dims = facts.DimsOf(value);
  return dims != nullptr && dims->size() >= 2 && dims->back().is_constant(1);
}

// Sinks from a Concat of the scores and a tensor of one column.
std::optional<Sinks> OfConcat(Node* concat, Facts& facts) {
  const int rank = facts.RankOf(concat->output(0));
  const int64_t axis = AttributeOr<int64_t>(*concat, "axis", 0);
  if (concat->inputs().size() != 2 || rank < 2 || (axis != -1 && axis != rank - 1)) {
    return std::nullopt;
  }
  for (const int side : {1, 0}) {
    Value* column = concat->input(side);
    if (!HasOneColumn(column, facts)) continue;
    Sinks sinks{.scores = concat->input(1 - side), .first = side == 0, .nodes = {concat}};
    const auto number = UniformOf(column);
    sinks.number = number.value_or(0);
    if (!number.has_value()) sinks.operand.value = column;
    return sinks;
  }
  return std::nullopt;
}

// Sinks from a Pad that adds one column of one number.
std::optional<Sinks> OfPad(Node* pad, Facts& facts) {
  const int rank = facts.RankOf(pad->input(0));
  if (rank < 2 || AttributeOr<std::string>(*pad, "mode", "constant") != "constant") {
    return std::nullopt;
  }
  const auto pads = PadsOf(*pad, rank, facts);
  if (!pads.has_value()) return std::nullopt;
  const bool first = (*pads)[rank - 1] == 1;
  if ((*pads)[first ? rank - 1 : 2 * rank - 1] != 1) return std::nullopt;
  if (absl::c_count(*pads, 0) != 2 * rank - 1) return std::nullopt;
  const Value* value = pad->input(2);
  const auto number = value == nullptr ? AttributeOr<float>(*pad, "value", 0) : UniformOf(value);
  if (!number.has_value()) return std::nullopt;
  return Sinks{.scores = pad->input(0), .number = *number, .first = first, .nodes = {pad}};
}

}  // namespace

std::optional<Sinks> FindSinks(Value* value, Facts& facts) {
  Node* node = value->producer();
  if (IsOp(node, "Concat")) return OfConcat(node, facts);
  if (IsOp(node, "Pad")) return OfPad(node, facts);
  if (!IsOp(node, "Cast")) return std::nullopt;
  auto sinks = FindSinks(node->input(0), facts);
  if (sinks.has_value()) sinks->nodes.insert(sinks->nodes.begin(), node);
  return sinks;
}

Value* WithoutSinks(Value* probabilities, const Sinks& sinks, Facts& facts,
                    std::vector<Node*>& nodes) {
  const std::vector<SymInt>* known = facts.DimsOf(probabilities);
  const std::vector<SymInt>* scores = facts.DimsOf(sinks.scores);
  if (known == nullptr || scores == nullptr) return nullptr;
  const View all = View::Dense(*known);
  const SymInt start(sinks.first ? 1 : 0);
  const auto wanted = all.Sliced(all.rank() - 1, start, scores->back());
  for (Node* node : probabilities->consumers()) {
    if (IsOp(node, "Cast") && probabilities->consumers().size() == 1) {
      nodes.push_back(node);
      return WithoutSinks(node->output(0), sinks, facts, nodes);
    }
    if (!IsViewNode(*node) || node->input(0) != probabilities || !wanted.has_value()) continue;
    for (Value* output : node->outputs()) {
      if (output == nullptr || ApplyViewNode(*node, *output, all, facts) != wanted) continue;
      nodes.push_back(node);
      return output;
    }
  }
  return nullptr;
}

}  // namespace attnrun::opt
