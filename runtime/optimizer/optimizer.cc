// SPDX-License-Identifier: Apache-2.0
#include "optimizer/optimizer.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/growth.h"
#include "core/hash_map.h"
#include "core/status.h"
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

// The clean-up and the phases in their order.
std::vector<Phase> AllPhases() {
  std::vector<Phase> phases = {CleanUp()};
  absl::c_copy(Phases(), std::back_inserter(phases));
  return phases;
}

absl::Status CheckPassName(const std::string& name) {
  for (const Phase& phase : AllPhases()) {
    const auto is_called = [&](const Rule* rule) { return rule->IsCalled(name); };
    if (absl::c_any_of(phase.rules, is_called)) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no optimizer pass '", name,
                                                 "'; the passes are ",
                                                 absl::StrJoin(PassNames(), ", ")));
}

// Removes all that comes after the last rule of this name; does nothing if the name is empty.
void StopAfter(absl::string_view name, std::vector<Phase>& phases) {
  const auto is_last = [&](const Rule* rule) { return rule->IsCalled(name); };
  while (!name.empty() && !phases.empty()) {
    std::vector<const Rule*>& rules = phases.back().rules;
    while (!rules.empty() && !is_last(rules.back())) rules.pop_back();
    if (!rules.empty()) return;
    phases.pop_back();
  }
}

// The clean-up, followed by the phases, without the rules that the options leave out.
std::vector<Phase> ChosenPhases(const OptimizerOptions& options) {
  std::vector<Phase> phases = AllPhases();
  StopAfter(options.stop_after, phases);
  for (Phase& phase : phases) {
    std::erase_if(phase.rules, [&](const Rule* rule) {
      return absl::c_any_of(options.disabled_passes,
                            [&](const std::string& name) { return rule->IsCalled(name); });
    });
  }
  return phases;
}

// A place in memory, from its first byte to the one behind its last.
using Range = std::pair<const char*, const char*>;

// The places of all initializers, including those of bodies.
void FindConstants(const Graph& graph, std::vector<Range>& ranges) {
  for (const Value* value : graph.values()) {
    if (value->constant() == nullptr) continue;
    const auto* const begin = value->constant()->data<char>();
    ranges.emplace_back(begin, begin + value->constant()->byte_size());
  }
  for (const Node* node : graph.nodes()) {
    for (const auto& [name, attribute] : node->attributes()) {
      const auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute);
      if (body != nullptr) FindConstants(**body, ranges);
    }
  }
}

// The bytes of all initializers. Those that share bytes of a file count once.
int64_t ConstantBytes(const Graph& graph) {
  std::vector<Range> ranges;
  FindConstants(graph, ranges);
  std::ranges::sort(ranges);
  int64_t bytes = 0;
  const char* counted = nullptr;
  for (const auto& [begin, end] : ranges) {
    const char* const from = std::max(begin, counted);
    if (end > from) bytes += end - from;
    counted = std::max(counted, end);
  }
  return bytes;
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
    shared_.foldable_bytes = std::min(MostBytesFrom(ConstantBytes(graph)), options.folded_bytes);
  }

  // Repeats the rounds: a rule of a late phase may create what a rule of an early phase needs.
  absl::Status Run() {
    constexpr int kMaxRounds = 6;
    for (int round = 0; round < kMaxRounds; ++round) {
      // Facts are computed anew, since values that have become constants say more about others.
      Facts facts(main_);
      main_.set_equalities(facts.equalities());
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
  // Lets bodies share equal constants that rules made in each, such as merged weights.
  SharedConstants constants_;
};

// Drops near misses that are reported twice, and those at nodes that a later rewrite removed.
void DropOutdatedMisses(std::vector<Rewrite>& report) {
  HashSet<std::string> said;
  HashSet<std::string> done;
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
  absl::Status status = optimizer.Run();
  // A patch is applied whole or not at all, so the graph is sound wherever the rewrites are cut
  // off.
  if (!status.ok() && !absl::IsCancelled(status)) return status;
  DropOutdatedMisses(optimizer.report());
  return std::move(optimizer.report());
}

}  // namespace attnrun::opt
