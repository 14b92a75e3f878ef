// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_PHASE_RUNNER_H_
#define ATTNRUN_OPTIMIZER_PHASE_RUNNER_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/rewrite.h"
#include "core/hash_map.h"
#include "optimizer/pipeline.h"

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
  HashMap<std::string, Places> by_operator_;
};

// Runs phases of rules on one graph, each to its fixpoint, and cleans up whenever rules have
// changed the graph.
class PhaseRunner {
 public:
  // The options and the report, which all graphs of one model share.
  struct Shared {
    // The clean-up and the phases, without the rules that the caller left out.
    Phase clean_up;
    std::vector<Phase> phases;
    // The graph that is checked after each rule, or null; see OptimizerOptions::check_graph.
    const Graph* checked = nullptr;
    int64_t rewrites_left = 0;
    int64_t foldable_bytes = 0;
    std::vector<Rewrite> report;
  };

  // `body` is Rewrite::body for this graph.
  PhaseRunner(Graph& graph, Facts& facts, std::string body, Shared& shared)
      : graph_(graph), facts_(facts), body_(std::move(body)), shared_(shared) {}

  // Runs the clean-up and then all phases once. Returns the number of rewrites.
  absl::StatusOr<int> Run();

 private:
  absl::StatusOr<int> RunPhase(const Phase& phase, bool cleans_up);
  absl::StatusOr<int> Sweep(const Phase& phase);
  absl::StatusOr<int> RunRule(const Rule& rule);
  absl::StatusOr<int> ProposeAtAnchors(const Rule& rule, RuleContext& context);

  Graph& graph_;
  Facts& facts_;
  const std::string body_;
  Shared& shared_;
  HashMap<const Value*, size_t> settled_;
  // Absent after the graph has changed, until it is built again.
  std::optional<NodeIndex> index_;
};

// Reports that `phase` still rewrites after the allowed number of repetitions.
void ReportNoFixpoint(absl::string_view phase, absl::string_view body, int repetitions,
                      std::vector<Rewrite>& report);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_PHASE_RUNNER_H_
