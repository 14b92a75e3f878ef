// SPDX-License-Identifier: Apache-2.0

// Exporters fold heads into the batch, apply an element-wise operator, and split the axes again.
// The operator can work on the split axes, so that the Reshapes vanish:
//
//   gate [B,N,S,1]     bias [B,N,S,T]           gate       bias
//        |                  |                       \       /
//   Reshape [B*N,S,1]  Reshape [B*N,S,T]    ->         Mul
//               \       /                               |
//                  Mul                              y [B,N,S,T]
//                   |
//            Reshape [B,N,S,T]
//                   |
//             y [B,N,S,T]
//
// A bias that was repeated along the joined axes then only broadcasts.

#include <algorithm>
#include <vector>

#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// The first axes of `split` if they are the first axis of `joined` and all other axes agree; else
// empty.
std::vector<SymInt> JoinedAxes(const std::vector<SymInt>& split,
                               const std::vector<SymInt>& joined) {
  if (joined.empty() || split.size() <= joined.size()) return {};
  const auto rest = split.end() - static_cast<std::ptrdiff_t>(joined.size() - 1);
  std::vector<SymInt> axes(split.begin(), rest);
  const bool same = std::equal(rest, split.end(), joined.begin() + 1);
  return same && Product(axes) == joined[0] ? axes : std::vector<SymInt>();
}

// The axes that a Reshape joins, or those into which it splits one; empty for other nodes.
std::vector<SymInt> AxesOfReshape(const Node* node, bool joins, Facts& facts) {
  if (!IsOp(node, "Reshape")) return {};
  const std::vector<SymInt>* from = facts.DimsOf(node->input(0));
  const std::vector<SymInt>* to = facts.DimsOf(node->output(0));
  if (from == nullptr || to == nullptr) return {};
  return joins ? JoinedAxes(*from, *to) : JoinedAxes(*to, *from);
}

// True if the value broadcasts along the first of `rank` axes.
bool RepeatsAlongFirst(const Value* value, int rank, Facts& facts) {
  const int of_value = facts.RankOf(value);
  return of_value >= 0 && (of_value < rank || facts.Extent(value, 0) == 1);
}

// The operands before their axes were joined; empty if an operand has other axes, or if all
// broadcast.
std::vector<Value*> SplitOperands(const Node& node, const std::vector<SymInt>& axes, Facts& facts) {
  const int rank = facts.RankOf(node.output(0));
  std::vector<Value*> operands;
  for (Value* input : node.inputs()) {
    if (input == nullptr || facts.RankOf(input) > rank) return {};
    if (RepeatsAlongFirst(input, rank, facts)) {
      operands.push_back(input);
    } else if (AxesOfReshape(input->producer(), /*joins=*/true, facts) == axes) {
      operands.push_back(input->producer()->input(0));
    } else {
      return {};
    }
  }
  return operands == node.inputs() ? std::vector<Value*>() : operands;
}

bool SplitJoinedOperands(RuleContext& context, Node* reshape, Patch& patch) {
  Facts& facts = context.facts;
  const std::vector<SymInt> axes = AxesOfReshape(reshape, /*joins=*/false, facts);
  Node* node = axes.empty() ? nullptr : reshape->input(0)->producer();
  if (node == nullptr || !ops::TraitsOf(*node).broadcasts) return false;
  const std::vector<Value*> operands = SplitOperands(*node, axes, facts);
  if (operands.empty()) return false;
  patch.Supersede({reshape, node});
  patch.Replace(reshape->output(0),
                patch.Op(OpNameOf(*node), operands, node->attributes(), node->name()));
  return patch.CanApply();
}

}  // namespace

extern const Rule kJoinedOperands = {
    .name = "joined_operands",
    .summary = "Axes that are joined before an element-wise operator and split after it stay apart",
    .anchors = {"Reshape"},
    .propose = SplitJoinedOperands};

}  // namespace attnrun::opt
