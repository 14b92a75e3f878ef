// SPDX-License-Identifier: Apache-2.0
#include "optimizer/phase_runner.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "graph/checker.h"

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

void ReportNoFixpoint(absl::string_view phase, absl::string_view body, int repetitions,
                      std::vector<Rewrite>& report) {
  Rewrite rewrite;
  rewrite.pass = std::string(phase);
  rewrite.body = std::string(body);
  rewrite.reason = absl::StrCat("no fixpoint: rules still apply after ", repetitions,
                                " repetitions, the last one is ",
                                report.empty() ? "unknown" : report.back().pass);
  report.push_back(std::move(rewrite));
}

absl::StatusOr<int> PhaseRunner::Run() {
  ATTNRUN_ASSIGN_OR_RETURN(int rewrites, RunPhase(shared_.clean_up, /*cleans_up=*/false));
  for (const Phase& phase : shared_.phases) {
    ATTNRUN_ASSIGN_OR_RETURN(const int applied, RunPhase(phase, /*cleans_up=*/true));
    rewrites += applied;
  }
  return rewrites;
}

absl::StatusOr<int> PhaseRunner::RunPhase(const Phase& phase, bool cleans_up) {
  // Each sweep may shorten a long chain by one node.
  constexpr int kMaxSweeps = 64;
  int rewrites = 0;
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    ATTNRUN_ASSIGN_OR_RETURN(const int applied, Sweep(phase));
    if (applied == 0) return rewrites;
    rewrites += applied;
    if (!cleans_up) continue;
    ATTNRUN_ASSIGN_OR_RETURN(const int cleaned, RunPhase(shared_.clean_up, /*cleans_up=*/false));
    rewrites += cleaned;
  }
  ReportNoFixpoint(phase.name, body_, kMaxSweeps, shared_.report);
  return rewrites;
}

absl::StatusOr<int> PhaseRunner::Sweep(const Phase& phase) {
  int rewrites = 0;
  for (const Rule* rule : phase.rules) {
    const absl::StatusOr<int> applied = RunRule(*rule);
    if (!applied.ok()) return Annotate(applied.status(), rule->name);
    if (*applied == 0) continue;
    index_.reset();
    rewrites += *applied;
    if (shared_.checked == nullptr) continue;
    ATTNRUN_RETURN_IF_ERROR(Annotate(CheckGraph(*shared_.checked), rule->name));
  }
  return rewrites;
}

absl::StatusOr<int> PhaseRunner::RunRule(const Rule& rule) {
  RuleContext context = {graph_,
                         facts_,
                         rule.name,
                         body_,
                         shared_.report,
                         shared_.rewrites_left,
                         shared_.foldable_bytes,
                         settled_};
  return rule.run != nullptr ? rule.run(context) : ProposeAtAnchors(rule, context);
}

absl::StatusOr<int> PhaseRunner::ProposeAtAnchors(const Rule& rule, RuleContext& context) {
  if (!index_.has_value()) {
    ATTNRUN_ASSIGN_OR_RETURN(index_, NodeIndex::Of(graph_));
  }
  return RewriteEachNode(context, index_->At(rule.AllAnchors()), [&](Node* node, Patch& patch) {
    return rule.ProposalAt(*node)(context, node, patch);
  });
}

}  // namespace attnrun::opt
