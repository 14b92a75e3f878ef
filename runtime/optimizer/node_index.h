// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_NODE_INDEX_H_
#define ATTNRUN_OPTIMIZER_NODE_INDEX_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {

// The nodes of a graph by operator, in topological order. Nodes whose first output is left out are
// skipped. Valid until the graph changes.
class NodeIndex {
 public:
  static absl::StatusOr<NodeIndex> Of(const Graph& graph);

  // The nodes of the operators that anchor a rule, in topological order.
  std::vector<Node*> At(const Anchors& anchors) const;

 private:
  // Nodes with their places in the topological order.
  using Places = std::vector<std::pair<size_t, Node*>>;

  Places all_;
  absl::flat_hash_map<std::string, Places> by_operator_;
};

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_NODE_INDEX_H_
