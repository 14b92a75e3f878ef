// SPDX-License-Identifier: Apache-2.0
#include "optimizer/node_index.h"

#include "absl/algorithm/container.h"
#include "core/status.h"

namespace attnrun::opt {

absl::StatusOr<NodeIndex> NodeIndex::Of(const Graph& graph) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Node*> order, graph.TopologicalOrder());
  NodeIndex index;
  for (Node* node : order) {
    if (node->output(0) == nullptr) continue;
    index.by_operator_[node->qualified_op_type()].emplace_back(index.all_.size(), node);
    index.all_.emplace_back(index.all_.size(), node);
  }
  return index;
}

std::vector<Node*> NodeIndex::At(const Anchors& anchors) const {
  Places places;
  if (anchors[0].empty()) places = all_;
  for (const absl::string_view anchor : anchors) {
    const auto found = by_operator_.find(anchor);
    if (found == by_operator_.end()) continue;
    places.insert(places.end(), found->second.begin(), found->second.end());
  }
  absl::c_sort(places);
  std::vector<Node*> nodes;
  nodes.reserve(places.size());
  for (const auto& [place, node] : places) nodes.push_back(node);
  return nodes;
}

}  // namespace attnrun::opt
