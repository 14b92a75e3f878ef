// SPDX-License-Identifier: Apache-2.0

// Exports of DeBERTa repeat the indices of positions for all samples and heads, since
// GatherElements does not broadcast. TakeAlongAxis does:
//
//   i [1, S, T] -> Expand -> [N, S, T]
//   GatherElements(x [N, S, P], [N, S, T]) {axis = 2}   ->   TakeAlongAxis(x, i)

#include "optimizer/analysis/broadcasting.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

bool TakeAlongAxes(RuleContext& context, Node* node, Patch& patch) {
  Facts& facts = context.facts;
  const std::vector<SymInt>* data = facts.DimsOf(node->input(0));
  const std::vector<SymInt>* indices = facts.DimsOf(node->input(1));
  if (data == nullptr || indices == nullptr || data->empty()) return false;
  const auto axis = AttributeOr<int64_t>(*node, "axis", 0);
  if (axis != -1 && axis + 1 != std::ssize(*data)) return false;
  // GatherElements allows fewer indices than rows of the data; broadcasting does not.
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

extern const Rule kTakeAlongAxis = {
    .name = "take_along_axis",
    .summary = "GatherElements by indices that were expanded becomes attnrun.TakeAlongAxis",
    .anchors = {"GatherElements"},
    .propose = TakeAlongAxes};

}  // namespace attnrun::opt
