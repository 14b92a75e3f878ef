// SPDX-License-Identifier: Apache-2.0
#include "fuzz/check.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "execution/executor.h"
#include "execution/plan.h"
#include "fuzz/closeness.h"
#include "graph/checker.h"
#include "graph/dump.h"
#include "optimizer/optimizer.h"

namespace attnrun::testing {
namespace {

absl::StatusOr<std::vector<Tensor>> Run(const Graph& graph, const TensorMap& inputs, bool kernels) {
  const auto plan =
      exec::Plan::Make(graph, kernels ? std::optional(exec::KernelOptions{}) : std::nullopt);
  if (!plan.ok()) return plan.status();
  std::vector<Tensor> ordered;
  for (const Value* input : graph.inputs()) ordered.push_back(inputs.at(input->name()));
  Interrupt interrupt(absl::Now() + absl::Seconds(20), nullptr);
  std::vector<Tensor> outputs;
  absl::Status status = exec::Execute(**plan, ordered, {{}, interrupt, Allocator::Heap()}, outputs);
  if (!status.ok()) return status;
  for (Tensor& output : outputs) output = output.Dense().value();
  return outputs;
}

// Optimizes the graph, then optimizes it again to see that no rewrite is left, and makes the checks
// that need no run.
std::optional<Failure> CheckRewrites(Graph& graph) {
  const size_t num_outputs = graph.outputs().size();
  opt::OptimizerOptions options;
  options.check_graph = true;
  const auto first = opt::Optimize(graph, options);
  if (!first.ok()) return Failure{"optimizer fails", first.status().ToString()};
  if (graph.outputs().size() != num_outputs) return Failure{"outputs lost", ""};
  const auto second = opt::Optimize(graph, options);
  if (!second.ok()) return Failure{"optimizer fails again", second.status().ToString()};
  for (const Rewrite& rewrite : *second) {
    if (!rewrite.applied) continue;
    return Failure{absl::StrCat("not idempotent: ", rewrite.pass),
                   rewrite.nodes.empty() ? "" : rewrite.nodes[0]};
  }
  return std::nullopt;
}

struct Engine {
  const char* name;
  const Graph& graph;
  bool kernels;
};

std::optional<Failure> CheckRun(const Engine& engine, const Graph& before, const TensorMap& inputs,
                                const Expectation& expectation) {
  const auto actual = Run(engine.graph, inputs, engine.kernels);
  if (!expectation.known()) return std::nullopt;
  const auto failure = [&](absl::string_view what, absl::string_view detail) {
    return Failure{absl::StrCat(engine.name, what),
                   absl::StrCat(detail, "\nit ran ", DumpText(engine.graph))};
  };
  if (!actual.ok()) return failure(" fails", actual.status().ToString());
  for (size_t i = 0; i < actual->size(); ++i) {
    const std::string& name = before.outputs()[i]->name();
    const std::string difference = expectation.Difference(name, (*actual)[i], engine.kernels);
    if (difference.empty()) continue;
    return failure(" differs", absl::StrCat("output '", name, "': ", difference));
  }
  return std::nullopt;
}

}  // namespace

std::optional<Failure> Check(const Trial& trial) {
  const auto before = Build(trial.draft);
  const auto after = Build(trial.draft);
  if (!before.ok()) return Failure{"no graph", before.status().ToString()};
  if (auto failure = CheckRewrites(**after)) return failure;
  for (const TensorMap& inputs : trial.bindings) {
    const Expectation expectation(**before, inputs);
    for (const Engine& engine : {Engine{"optimized, reference code,", **after, false},
                                 Engine{"optimized, with kernels,", **after, true},
                                 Engine{"unoptimized, with kernels,", **before, true}}) {
      if (auto failure = CheckRun(engine, **before, inputs, expectation)) return failure;
    }
  }
  return std::nullopt;
}

}  // namespace attnrun::testing
