// SPDX-License-Identifier: Apache-2.0

// Merges nodes that apply the same version of an operator with the same attributes to the same
// values, and initializers with equal elements, since exporters repeat shape arithmetic and masks
// in each layer:
//
//   a = Mul(x, y),  b = Mul(x, y)   ->   a = Mul(x, y), and readers of b read a
//
// Random operators and operators with subgraphs are left alone.

#include <algorithm>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/hash_map.h"
#include "core/status.h"
#include "graph/attribute_key.h"
#include "ops/interface/registry.h"
#include "optimizer/rewrite/patch.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rewrite/shared_constants.h"

namespace attnrun::opt {
namespace {

int MergeInitializers(RuleContext& context) {
  HashMap<std::string, std::vector<Value*>> seen;
  int merged = 0;
  for (Value* value : context.graph.values()) {
    if (!value->is_constant() || value->consumers().empty()) continue;
    const Tensor& tensor = *value->constant();
    if (!HasPlainBytes(tensor)) continue;
    std::vector<Value*>& candidates = seen[SampleOf(tensor)];
    const auto same = std::find_if(candidates.begin(), candidates.end(), [&](const Value* other) {
      return SameElements(*other->constant(), tensor);
    });
    if (same == candidates.end()) {
      candidates.push_back(value);
      continue;
    }
    context.graph.ReplaceUses(value, *same);
    if (!context.graph.IsOutput(value)) context.Remove(value);
    ++merged;
  }
  return merged;
}

// The version of the operator that the node's opset selects. Nodes from rules and from the file may
// have different opsets that mean the same version.
int VersionOf(const Node& node) {
  const int same = ops::TraitsOf(node).same_since;
  if (same > 0 && node.opset() >= same) return same;
  return ops::OpRegistry::Get().Version(node).value_or(node.opset());
}

// A key that is equal for nodes that compute the same; empty for nodes that are not merged, such as
// random ones.
std::string NodeKey(const Node& node) {
  const ops::OpTraits& traits = ops::TraitsOf(node);
  if (traits.random) return "";
  std::string key =
      absl::StrCat(node.qualified_op_type(), "@", VersionOf(node), "/", node.outputs().size());
  if (!AppendKey(node.attributes(), key)) return "";
  std::vector<Value*> inputs = node.inputs();
  if (traits.commutes) absl::c_sort(inputs);
  for (const Value* input : inputs) {
    absl::StrAppend(&key, ",", reinterpret_cast<uintptr_t>(input));
  }
  return key;
}

absl::StatusOr<int> MergeCommonSubexpressions(RuleContext& context) {
  int merged = MergeInitializers(context);
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Node*> order, context.graph.TopologicalOrder());
  HashMap<std::string, Node*> seen;
  for (Node* node : order) {
    const std::string key = NodeKey(*node);
    if (key.empty()) continue;
    const auto [it, inserted] = seen.try_emplace(key, node);
    if (inserted) continue;
    Patch patch(context);
    patch.Supersede({node});
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      Value* old = node->output(i);
      Value* other = it->second->output(i);
      if (old != nullptr && other != nullptr) patch.Replace(old, other);
    }
    // The other node may lack an output that this one has.
    if (!patch.CanApply()) continue;
    ATTNRUN_ASSIGN_OR_RETURN(const int applied, patch.Apply());
    merged += applied;
  }
  return merged;
}

}  // namespace

extern const Rule kCommonSubexpressions = {
    .name = "common_subexpressions",
    .summary = "Nodes that compute the same, and equal initializers, become one",
    .run = MergeCommonSubexpressions};

}  // namespace attnrun::opt
