// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/relative/take_along_axis.h"

#include "optimizer/analysis/broadcasting.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/each_node.h"

namespace attnrun::opt {
namespace {

bool Propose(Facts& facts, Node* node, Patch& patch) {
  const std::vector<SymInt>* data = facts.DimsOf(node->input(0));
  const std::vector<SymInt>* indices = facts.DimsOf(node->input(1));
  if (data == nullptr || indices == nullptr || data->empty()) return false;
  const auto axis = AttributeOr<int64_t>(*node, "axis", 0);
  if (axis != -1 && axis + 1 != std::ssize(*data)) return false;
  // Indices may be fewer than rows of the data, which broadcasting would not allow.
  std::vector<SymInt> shape = *data;
  shape.back() = indices->back();
  if (*indices != shape) return false;
  Value* source = BroadcastSource(node->input(1), facts, [&](const std::vector<SymInt>& dims) {
    return !dims.empty() && dims.back() == shape.back() && BroadcastsTo(dims, shape);
  });
  if (source == node->input(1)) return false;
  patch.Supersede({node});
  patch.Replace(node->output(0),
                patch.Op("attnrun::TakeAlongAxis", {node->input(0), source}, {}, node->name()));
  return true;
}

}  // namespace

absl::StatusOr<int> TakeAlongAxes(PassContext& context) {
  return RewriteEachNode(context, [&](Node* node, Patch& patch) {
    return IsOp(node, "GatherElements") && Propose(context.facts, node, patch);
  });
}

}  // namespace attnrun::opt
