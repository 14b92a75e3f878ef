// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SUPPORT_PLAN_TESTER_H_
#define ATTNRUN_TESTS_SUPPORT_PLAN_TESTER_H_

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "execution/executor.h"
#include "execution/plan.h"
#include "support/graph_builder.h"

namespace attnrun::testing {

// Runs a graph as it was built, without the optimizer.
class PlanTester {
 public:
  using Build = std::function<void(GraphBuilder&)>;

  explicit PlanTester(const Build& build, bool kernels = true) {
    GraphBuilder builder;
    build(builder);
    graph_ = builder.Build().value();
    const auto options = kernels ? std::optional(exec::KernelOptions{}) : std::nullopt;
    plan_ = exec::Plan::Make(*graph_, options).value();
  }

  absl::StatusOr<std::vector<Tensor>> Run(const std::vector<Tensor>& inputs,
                                          const RunOptions& options = {},
                                          Allocator& allocator = Allocator::Heap()) const {
    Interrupt interrupt(options.deadline, options.cancel);
    std::vector<Tensor> outputs;
    absl::Status status = exec::Execute(*plan_, inputs, {options, interrupt, allocator}, outputs);
    if (!status.ok()) return status;
    return outputs;
  }

  const Graph& graph() const { return *graph_; }
  const exec::Plan& plan() const { return *plan_; }

 private:
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<exec::Plan> plan_;
};

// A graph for an attribute of If, Loop or Scan.
inline std::shared_ptr<Graph> Subgraph(const PlanTester::Build& build) {
  GraphBuilder builder;
  build(builder);
  return builder.Build().value();
}

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SUPPORT_PLAN_TESTER_H_
