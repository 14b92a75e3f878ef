// SPDX-License-Identifier: Apache-2.0

// Exporters write one product each for Q, K and V. The projections of an attention that share their
// input become one product, which is faster:
//
//            x                                   x
//        /   |   \                               |
//   Linear Linear Linear                      Linear [Wq Wk Wv]
//       |    |    |                              |
//     (rotary embedding, norm, ...)     ->     Split
//        \   |   /                             / | \  .
//        Attention                          Attention
//
// Nodes between a projection and the attention stay. The first Linear of a LoRA pair, or the one
// that computes latents for keys and values, merges with those that share its input. Where each
// head has its own projections, all 3·h become one, in the order of heads. In cross-attention only
// K and V merge. Where the attention itself was not fused, projections merge if they lead to a
// product of two computed values.

#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/hash_map.h"
#include "core/quote.h"
#include "core/status.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/product_search.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/attention/ways.h"
#include "optimizer/rules/projection/merge.h"

namespace attnrun::opt {
namespace {

// Rotary embeddings with norms of Q and K are shorter chains than this.
constexpr int kMaxDepth = 32;

// Finds the products from which an operand is computed, in the order in which they are met.
class ProjectionSearch {
 public:
  std::vector<Node*> Find(Value* value) {
    Visit(value, 0);
    return found_;
  }

 private:
  void Visit(Value* value, int depth) {
    Node* node = value == nullptr ? nullptr : value->producer();
    if (node == nullptr || depth > kMaxDepth || !visited_.insert(node).second) return;
    if (ops::TraitsOf(*node).multiplies) {
      found_.push_back(node);
      return;
    }
    if (!IsPassedThrough(*node)) return;
    // Follows only the data of a Reshape, a Slice and so on, not their other inputs.
    const size_t count = MovesElements(*node) ? 1 : node->inputs().size();
    for (size_t i = 0; i < count; ++i) Visit(node->input(i), depth + 1);
  }

  HashSet<const Node*> visited_;
  std::vector<Node*> found_;
};

// The attentions whose projections belong together: a single one, or those of some heads each that
// one Concat joins, in its order.
std::vector<std::vector<Node*>> AttentionGroups(const std::vector<Node*>& order,
                                                RuleContext& context) {
  std::vector<std::vector<Node*>> groups;
  HashMap<const Node*, size_t> group_of;
  for (Node* node : order) {
    if (IsFusedAttention(*node)) {
      group_of[node] = groups.size();
      groups.push_back({node});
    }
    if (!ops::TraitsOf(*node).assembles) continue;
    std::vector<Node*> joined;
    for (Value* input : node->inputs()) {
      const auto source = FindSource(input, context, IsFusedAttention);
      if (source.has_value()) joined.push_back(source->node);
    }
    for (const Node* attention : joined) groups[group_of.at(attention)].clear();
    if (!joined.empty()) groups[group_of.at(joined[0])] = std::move(joined);
  }
  std::erase_if(groups, [](const std::vector<Node*>& group) { return group.empty(); });
  return groups;
}

// The Linear whose result a projection reads through norms, constant factors and views alone: the
// first of a LoRA pair, or the one that computes the latents of keys.
Node* LinearBefore(const Node& projection) {
  constexpr int kMaxSteps = 8;
  Node* node = projection.input(0)->producer();
  for (int step = 0; step < kMaxSteps && node != nullptr; ++step) {
    if (IsLinear(*node)) return node;
    double factor = 1;
    Value* scaled = ScaledOperand(*node, factor);
    const bool passes = MovesElements(*node) || ops::TraitsOf(*node).works_on_rows;
    if (scaled == nullptr && !passes) return nullptr;
    node = (scaled == nullptr ? node->input(0) : scaled)->producer();
  }
  return nullptr;
}

// The projections of a group by their input, first those of Q, then K, then V, each once.
struct Projections {
  std::vector<Value*> inputs;
  // Inputs that only projections before other projections have.
  std::vector<Value*> farther_inputs;
  HashMap<const Value*, std::vector<Node*>> by_input;
  std::string not_merged;

  void Add(Node* node, std::vector<Value*>& to) {
    Value* x = node->input(0);
    std::vector<Node*>& nodes = by_input[x];
    if (nodes.empty()) to.push_back(x);
    if (!absl::c_linear_search(nodes, node)) nodes.push_back(node);
  }
};

Projections FindProjections(const std::vector<Node*>& attentions) {
  Projections projections;
  std::vector<Node*> found;
  for (const int operand : {0, 1, 2}) {
    for (const Node* attention : attentions) {
      absl::c_copy(ProjectionSearch().Find(attention->input(operand)), std::back_inserter(found));
    }
  }
  for (Node* node : found) {
    std::string why;
    if (LinearMerger::CanMerge(*node, why)) {
      projections.Add(node, projections.inputs);
    } else if (projections.not_merged.empty()) {
      projections.not_merged = why;
    }
  }
  for (const Node* node : found) {
    std::string why;
    Node* before = LinearBefore(*node);
    if (before == nullptr || !LinearMerger::CanMerge(*before, why)) continue;
    projections.Add(before, projections.farther_inputs);
  }
  return projections;
}

// The reason why the projections of a group do not merge; empty if they do.
std::string WhyApart(const Projections& projections) {
  if (!projections.not_merged.empty() || projections.inputs.size() < 2) {
    return projections.not_merged;
  }
  const auto name = [](std::string* out, const Value* x) {
    absl::StrAppend(out, Quoted(x->name()));
  };
  return absl::StrCat("its projections have different inputs: ",
                      absl::StrJoin(projections.inputs, ", ", name));
}

absl::StatusOr<int> MergeGroup(RuleContext& context, LinearMerger& merger,
                               const std::vector<Node*>& attentions) {
  const Node& anchor = *attentions[0];
  const Projections projections = FindProjections(attentions);
  // The reason and the groups are found before the merge, which removes values that they refer to.
  std::string why = WhyApart(projections);
  std::vector<std::vector<Node*>> groups;
  for (const std::vector<Value*>& inputs : {projections.inputs, projections.farther_inputs}) {
    for (const Value* x : inputs) groups.push_back(projections.by_input.at(x));
  }
  int merged = 0;
  for (const std::vector<Node*>& linears : groups) {
    Patch patch(context);
    if (!merger.Merge(linears, anchor, patch)) continue;
    ATTNRUN_ASSIGN_OR_RETURN(const int applied, patch.Apply());
    merged += applied;
  }
  if (!why.empty()) context.Miss(anchor, std::move(why));
  return merged;
}

// Merges the projections of attentions that were not fused.
absl::StatusOr<int> MergeUnfused(RuleContext& context, LinearMerger& merger) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Node*> order, context.graph.TopologicalOrder());
  std::vector<Value*> inputs;
  HashMap<const Value*, std::vector<Node*>> by_input;
  for (Node* node : order) {
    std::string why;
    if (!IsLinear(*node) || !LinearMerger::CanMerge(*node, why)) continue;
    if (!LeadsToProduct(node->output(0))) continue;
    std::vector<Node*>& nodes = by_input[node->input(0)];
    if (nodes.empty()) inputs.push_back(node->input(0));
    nodes.push_back(node);
  }
  int merged = 0;
  for (const Value* x : inputs) {
    const std::vector<Node*>& linears = by_input.at(x);
    Patch patch(context);
    if (!merger.Merge(linears, *linears[0], patch)) continue;
    ATTNRUN_ASSIGN_OR_RETURN(const int applied, patch.Apply());
    merged += applied;
  }
  return merged;
}

absl::StatusOr<int> MergeQkvProjections(RuleContext& context) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Node*> order, context.graph.TopologicalOrder());
  LinearMerger merger(context);
  int merged = 0;
  for (const std::vector<Node*>& attentions : AttentionGroups(order, context)) {
    ATTNRUN_ASSIGN_OR_RETURN(const int applied, MergeGroup(context, merger, attentions));
    merged += applied;
  }
  ATTNRUN_ASSIGN_OR_RETURN(const int unfused, MergeUnfused(context, merger));
  return merged + unfused;
}

}  // namespace

extern const Rule kQkvProjection = {
    .name = "qkv_projection",
    .summary = "The projections of Q, K and V that share their input become one product",
    .run = MergeQkvProjections};

}  // namespace attnrun::opt
