// SPDX-License-Identifier: Apache-2.0
#include "optimizer/optimizer.h"

#include <algorithm>
#include <limits>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status.h"
#include "optimizer/analysis/body_facts.h"
#include "optimizer/phase_runner.h"
#include "optimizer/pipeline.h"
#include "optimizer/rewrite/shared_constants.h"

namespace attnrun::opt {
namespace {

#ifdef NDEBUG
constexpr bool kDebug = false;
#else
constexpr bool kDebug = true;
#endif

absl::Status CheckPassName(const std::string& name) {
  const std::vector<std::string> names = PassNames();
  if (absl::c_linear_search(names, name)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("there is no optimizer pass '", name,
                                                 "'; the passes are ", absl::StrJoin(names, ", ")));
}

// The clean-up and the phases in their order.
std::vector<Phase> AllPhases() {
  std::vector<Phase> phases = {CleanUp()};
  absl::c_copy(Phases(), std::back_inserter(phases));
  return phases;
}

// Cuts off what comes after the last rule of this name; an empty name cuts nothing.
void StopAfter(absl::string_view name, std::vector<Phase>& phases) {
  const auto is_last = [&](const Rule* rule) { return rule->name == name; };
  while (!name.empty() && !phases.empty()) {
    std::vector<const Rule*>& rules = phases.back().rules;
    while (!rules.empty() && !is_last(rules.back())) rules.pop_back();
    if (!rules.empty()) return;
    phases.pop_back();
  }
}

// The clean-up first.
std::vector<Phase> ChosenPhases(const OptimizerOptions& options) {
  std::vector<Phase> phases = AllPhases();
  StopAfter(options.stop_after, phases);
  for (Phase& phase : phases) {
    std::erase_if(phase.rules, [&](const Rule* rule) {
      return absl::c_linear_search(options.disabled_passes, rule->name);
    });
  }
  return phases;
}

// Initializers, those of bodies included.
int64_t ConstantBytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const Value* value : graph.values()) {
    if (value->constant() != nullptr) bytes += static_cast<int64_t>(value->constant()->byte_size());
  }
  for (const Node* node : graph.nodes()) {
    for (const auto& [name, attribute] : node->attributes()) {
      const auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute);
      if (body != nullptr) bytes += ConstantBytes(**body);
    }
  }
  return bytes;
}

// In proportion to the file: a tensor that is joined with itself sixty times has a small one.
int64_t FoldableBytes(const Graph& graph) {
  constexpr int64_t kAlways = int64_t{256} << 20;
  constexpr int64_t kTimes = 16;
  // Many initializers may lie in the same place of a file.
  constexpr int64_t kMost = int64_t{1} << 50;
  return kAlways + kTimes * std::min(ConstantBytes(graph), kMost);
}

// The phases over one model: its main graph and the bodies of control flow in it.
class Optimizer {
 public:
  Optimizer(Graph& graph, const OptimizerOptions& options) : main_(graph) {
    const std::vector<Phase> phases = ChosenPhases(options);
    shared_.clean_up = phases[0];
    shared_.phases.assign(phases.begin() + 1, phases.end());
    if (options.check_graph || kDebug) shared_.checked = &graph;
    shared_.rewrites_left =
        options.max_rewrites < 0 ? std::numeric_limits<int64_t>::max() : options.max_rewrites;
    shared_.foldable_bytes = FoldableBytes(graph);
  }

  // Round after round: a rule of a late phase may be what one of an early phase waited for.
  absl::Status Run() {
    constexpr int kMaxRounds = 6;
    for (int round = 0; round < kMaxRounds; ++round) {
      // New facts: values that have become constant say more about others.
      Facts facts(main_);
      ATTNRUN_ASSIGN_OR_RETURN(const int applied, RunRound(main_, facts, ""));
      if (applied == 0) return absl::OkStatus();
    }
    ReportNoFixpoint("pipeline", "", kMaxRounds, shared_.report);
    return absl::OkStatus();
  }

  std::vector<Rewrite>& report() { return shared_.report; }

 private:
  // Runs all phases on the graph and then on the bodies in it. Returns the number of rewrites.
  absl::StatusOr<int> RunRound(Graph& graph, Facts& facts, const std::string& body) {
    ATTNRUN_ASSIGN_OR_RETURN(int applied, PhaseRunner(graph, facts, body, shared_).Run());
    for (Node* node : graph.nodes()) {
      ATTNRUN_ASSIGN_OR_RETURN(const int inside, RunBodies(graph, node, facts, body));
      applied += inside;
    }
    return applied;
  }

  absl::StatusOr<int> RunBodies(Graph& graph, Node* node, Facts& facts, const std::string& body) {
    const std::vector<std::pair<std::string, Graph*>> bodies = BodiesOf(*node);
    if (bodies.empty()) return 0;
    // The weights of a body are mostly initializers of the main graph.
    graph.TidyCaptures(node);
    int applied = 0;
    for (const auto& [attribute, inner] : bodies) {
      Facts inside(*inner, facts, BodyInputFacts(*node, attribute, facts));
      const std::string place =
          absl::StrCat(body, body.empty() ? "" : "/", node->name(), ".", attribute);
      ATTNRUN_ASSIGN_OR_RETURN(const int rewrites, RunRound(*inner, inside, place));
      applied += rewrites;
      constants_.Share(*inner);
    }
    graph.TidyCaptures(node);
    return applied;
  }

  static std::vector<std::pair<std::string, Graph*>> BodiesOf(const Node& node) {
    std::vector<std::pair<std::string, Graph*>> bodies;
    for (const auto& [name, attribute] : node.attributes()) {
      const auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute);
      if (body != nullptr) bodies.emplace_back(name, body->get());
    }
    return bodies;
  }

  Graph& main_;
  PhaseRunner::Shared shared_;
  // Constants that rules made in several bodies, such as weights side by side.
  SharedConstants constants_;
};

// Drops near misses that are reported twice, and those at nodes that a later rewrite took.
void DropOutdatedMisses(std::vector<Rewrite>& report) {
  absl::flat_hash_set<std::string> said;
  absl::flat_hash_set<std::string> done;
  const auto place = [](const Rewrite& rewrite, const std::string& node) {
    return absl::StrCat(rewrite.pass, "@", rewrite.body, "@", node);
  };
  for (const Rewrite& rewrite : report) {
    if (!rewrite.applied) continue;
    for (const std::string& node : rewrite.nodes) done.insert(place(rewrite, node));
  }
  std::erase_if(report, [&](const Rewrite& rewrite) {
    if (rewrite.applied) return false;
    for (const std::string& node : rewrite.nodes) {
      if (done.contains(place(rewrite, node))) return true;
    }
    return !said.insert(place(rewrite, rewrite.reason)).second;
  });
}

}  // namespace

std::vector<std::string> PassNames() {
  std::vector<std::string> names;
  for (const Phase& phase : AllPhases()) {
    for (const Rule* rule : phase.rules) {
      if (!absl::c_linear_search(names, rule->name)) names.emplace_back(rule->name);
    }
  }
  return names;
}

absl::StatusOr<std::vector<Rewrite>> Optimize(Graph& graph, const OptimizerOptions& options) {
  for (const std::string& name : options.disabled_passes) {
    ATTNRUN_RETURN_IF_ERROR(CheckPassName(name));
  }
  if (!options.stop_after.empty()) ATTNRUN_RETURN_IF_ERROR(CheckPassName(options.stop_after));
  Optimizer optimizer(graph, options);
  const absl::Status status = optimizer.Run();
  // A patch is applied whole or not at all: where the rewrites are cut off the graph is sound.
  if (!status.ok() && !absl::IsCancelled(status)) return status;
  DropOutdatedMisses(optimizer.report());
  return std::move(optimizer.report());
}

}  // namespace attnrun::opt
