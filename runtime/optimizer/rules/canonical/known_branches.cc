// SPDX-License-Identifier: Apache-2.0

// Replaces an If whose condition is the same in every run by the nodes of its branch. Exporters
// write such an If where they ask for an extent, which later turns out to be a fixed number:
//
//   If(condition)  ->  the nodes of its branch

#include <memory>
#include <string>

#include "core/status.h"
#include "optimizer/analysis/conditions.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// The attribute that holds the branch that every run takes; empty if that is not known.
std::string TakenBranch(const Node& node, Facts& facts) {
  if (!IsOp(&node, "If")) return "";
  const auto condition = KnownCondition(node.input(0), facts);
  if (!condition.has_value()) return "";
  const std::string name = *condition ? "then_branch" : "else_branch";
  const AttributeValue* attribute = node.attribute(name);
  const auto* branch =
      attribute == nullptr ? nullptr : std::get_if<std::shared_ptr<Graph>>(attribute);
  // A branch of another form is left alone, so that the run refuses it.
  const bool fits = branch != nullptr && branch->use_count() == 1 && (*branch)->inputs().empty() &&
                    (*branch)->outputs().size() == node.outputs().size();
  return fits ? name : "";
}

absl::Status Take(RuleContext& context, Node* node, const std::string& branch) {
  ATTNRUN_RETURN_IF_ERROR(context.BeginRewrite());
  Rewrite rewrite = {
      std::string(context.rule), true, std::string(context.body), {node->name()}, {}, ""};
  const size_t before = context.graph.nodes().size();
  const std::vector<Value*> results = context.graph.Inline(node, branch);
  const std::vector<Node*> nodes = context.graph.nodes();
  for (size_t i = before; i < nodes.size(); ++i) rewrite.into.push_back(nodes[i]->name());
  for (size_t i = 0; i < results.size(); ++i) {
    if (node->output(i) != nullptr) context.graph.ReplaceUses(node->output(i), results[i]);
  }
  context.Remove(node);
  context.report.push_back(std::move(rewrite));
  return absl::OkStatus();
}

absl::StatusOr<int> TakeKnownBranches(RuleContext& context) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Node*> order, context.graph.TopologicalOrder());
  int taken = 0;
  for (Node* node : order) {
    const std::string branch = TakenBranch(*node, context.facts);
    if (branch.empty()) continue;
    ATTNRUN_RETURN_IF_ERROR(Take(context, node, branch));
    ++taken;
  }
  return taken;
}

}  // namespace

extern const Rule kKnownBranches = {
    .name = "known_branches",
    .summary = "An If whose condition is known becomes the nodes of its branch",
    .run = TakeKnownBranches};

}  // namespace attnrun::opt
