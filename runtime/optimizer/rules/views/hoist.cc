// SPDX-License-Identifier: Apache-2.0

// Exporters split a packed projection and then reshape or transpose each part alike. One such view
// before the Split does the same. It leaves the last axis as it is.

#include "absl/algorithm/container.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rules/views/moves.h"

namespace attnrun::opt {
namespace {

// The common view of all parts: the extents of the axes before the last, or their order.
struct Arrangement {
  std::vector<SymInt> leading;
  std::vector<int64_t> permutation;

  friend bool operator==(const Arrangement& a, const Arrangement& b) {
    return a.leading == b.leading && a.permutation == b.permutation;
  }
};

std::optional<Arrangement> ArrangementOf(const Node& node, Facts& facts) {
  const std::vector<SymInt>* from = facts.DimsOf(node.input(0));
  if (from == nullptr || from->empty()) return std::nullopt;
  if (IsOp(&node, "Transpose")) {
    if (!KeepsLastAxis(node)) return std::nullopt;
    return Arrangement{.leading = {},
                       .permutation = AttributeOr<std::vector<int64_t>>(node, "perm", {})};
  }
  if (!IsOp(&node, "Reshape")) return std::nullopt;
  const SymInt channels = from->back();
  const std::vector<SymInt>* to = facts.DimsOf(node.output(0));
  if (to == nullptr || to->empty() || to->back() != channels) return std::nullopt;
  return Arrangement{.leading = {to->begin(), to->end() - 1}, .permutation = {}};
}

bool SplitsLastAxis(const Node& node, Facts& facts) {
  if (!IsOp(&node, "Split") || node.input(1) == nullptr) return false;
  const int64_t axis = AttributeOr<int64_t>(node, "axis", 0);
  const int rank = facts.RankOf(node.input(0));
  return rank > 1 && (axis == -1 || axis == rank - 1) &&
         KnownInts(node.input(1), facts).has_value();
}

// The only reader of each part, null for a part without readers; nullopt if a part has several.
std::optional<std::vector<Node*>> ReadersOf(const Node& split, const Graph& graph) {
  std::vector<Node*> readers;
  for (const Value* part : split.outputs()) {
    readers.push_back(nullptr);
    if (part == nullptr || (part->consumers().empty() && !graph.IsOutput(part))) continue;
    if (part->consumers().size() != 1 || graph.IsOutput(part)) return std::nullopt;
    readers.back() = part->consumers()[0];
    if (readers.back()->input(0) != part) return std::nullopt;
  }
  return readers;
}

// The arrangement that all parts with readers have in common; nullopt if they differ.
std::optional<Arrangement> Common(const std::vector<Node*>& readers, Facts& facts) {
  std::optional<Arrangement> common;
  for (const Node* reader : readers) {
    if (reader == nullptr) continue;
    auto arrangement = ArrangementOf(*reader, facts);
    if (!arrangement.has_value()) return std::nullopt;
    if (common.has_value() && !(*common == *arrangement)) return std::nullopt;
    common = std::move(arrangement);
  }
  return common;
}

}  // namespace

bool HoistViews(RuleContext& context, Node* split, Patch& patch) {
  Facts& facts = context.facts;
  if (!SplitsLastAxis(*split, facts)) return false;
  const auto readers = ReadersOf(*split, context.graph);
  if (!readers.has_value()) return false;
  const auto common = Common(*readers, facts);
  if (!common.has_value()) return false;
  Value* x = split->input(0);
  std::vector<SymInt> to = common->leading;
  to.push_back(facts.DimsOf(x)->back());
  Value* arranged = common->permutation.empty()
                        ? ReshapeTo(patch, facts, x, to)
                        : patch.Op("Transpose", {x}, {{"perm", common->permutation}});
  if (arranged == nullptr) return false;
  const std::vector<Value*> parts =
      patch.Ops("Split", static_cast<int>(split->outputs().size()), {arranged, split->input(1)},
                {{"axis", int64_t{-1}}}, split->name());
  patch.Supersede({split});
  for (size_t i = 0; i < readers->size(); ++i) {
    if ((*readers)[i] == nullptr) continue;
    patch.Supersede({(*readers)[i]});
    patch.Replace((*readers)[i]->output(0), parts[i]);
  }
  return true;
}

}  // namespace attnrun::opt
