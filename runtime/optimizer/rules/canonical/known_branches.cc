// SPDX-License-Identifier: Apache-2.0

//   If(condition)    becomes    the nodes of its branch
//
// where the condition is the same in every run, as where an exporter asks for an extent that is a
// number by now.

#include <memory>
#include <string>

#include "core/status.h"
#include "optimizer/analysis/conditions.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// The attribute that holds the branch which every run takes; empty if that is not known.
std::string TakenBranch(const Node& node, Facts& facts) {
  if (!IsOp(&node, "If")) return "";
  const auto condition = KnownCondition(node.input(0), facts);
  if (!condition.has_value()) return "";
  const std::string name = *condition ? "then_branch" : "else_branch";
  const AttributeValue* attribute = node.attribute(name);
  const auto* branch =
      attribute == nullptr ? nullptr : std::get_if<std::shared_ptr<Graph>>(attribute);
  // A branch that does not fit is left for the run to refuse.
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
