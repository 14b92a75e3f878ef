// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_REWRITE_CONTEXT_H_
#define ATTNRUN_OPTIMIZER_REWRITE_CONTEXT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "attnrun/rewrite.h"
#include "core/hash_map.h"
#include "graph/graph.h"
#include "optimizer/analysis/facts.h"

namespace attnrun::opt {

// The graph that a rule works on and the report it writes to. Rewrites go through Patch, which
// keeps `facts` and `report` up to date.
struct RuleContext {
  Graph& graph;
  Facts& facts;
  // The rule's name in the report.
  absl::string_view rule;
  // The body that the graph is, as in Rewrite::body.
  absl::string_view body;
  std::vector<Rewrite>& report;
  // The number of rewrites that may still be applied.
  int64_t& rewrites_left;
  // The number of bytes that may still be computed before the first run.
  int64_t& foldable_bytes;
  // Fingerprints of the nodes that compute a value, where the rule `views` found nothing to do. It
  // looks again once they differ.
  HashMap<const Value*, size_t>& settled;

  // Must be called before each rewrite is applied; counts it. kCancelled if no more rewrites are
  // wanted.
  absl::Status BeginRewrite();
  // Removes a node that nobody reads, or a value that nobody reads or computes.
  void Remove(Node* node);
  void Remove(Value* value);
  // Records that a rewrite at `node` was considered and why it was not applied.
  void Miss(const Node& node, std::string reason);
};

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_REWRITE_CONTEXT_H_
