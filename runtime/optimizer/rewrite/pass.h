// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_REWRITE_PASS_H_
#define ATTNRUN_OPTIMIZER_REWRITE_PASS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attnrun/rewrite.h"
#include "graph/graph.h"
#include "optimizer/analysis/facts.h"

namespace attnrun::opt {

// What a pass works on. Rewrites go through Patch, which keeps `facts` and `report` up to date.
struct PassContext {
  Graph& graph;
  Facts& facts;
  absl::string_view pass;
  // Rewrite::body.
  absl::string_view body;
  std::vector<Rewrite>& report;
  // How many more may be applied.
  int64_t& rewrites_left;
  // How many bytes may still be computed ahead of the runs.
  int64_t& foldable_bytes;

  // To be called before each rewrite is applied, which it counts: kCancelled if no more are wanted.
  absl::Status BeginRewrite();
  // Removes a node nobody reads, or a value nobody reads or computes.
  void Remove(Node* node);
  void Remove(Value* value);
  // Records that a rewrite at `node` was considered and why it was not applied.
  void Miss(const Node& node, std::string reason);
};

// One step of the optimizer: rewrites a graph without changing what it computes.
struct Pass {
  absl::string_view name;
  // Returns the number of rewrites applied.
  absl::StatusOr<int> (*run)(PassContext& context);
};

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_REWRITE_PASS_H_
