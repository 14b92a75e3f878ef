// SPDX-License-Identifier: Apache-2.0
#include "support/optimizer_tester.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status.h"
#include "execution/executor.h"
#include "execution/plan.h"
#include "graph/checker.h"

namespace attnrun::testing {
namespace {

std::unique_ptr<Graph> BuildGraph(const OptimizerTester::Build& build, int opset) {
  GraphBuilder builder(opset);
  build(builder);
  auto graph = builder.Build();
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : std::make_unique<Graph>();
}

absl::StatusOr<std::vector<Tensor>> Run(const Graph& graph, const std::vector<Tensor>& inputs,
                                        bool kernels) {
  const auto plan =
      exec::Plan::Make(graph, kernels ? std::optional(exec::KernelOptions{}) : std::nullopt);
  if (!plan.ok()) return plan.status();
  Interrupt never;
  std::vector<Tensor> outputs;
  ATTNRUN_RETURN_IF_ERROR(exec::Execute(**plan, inputs, {{}, never, Allocator::Heap()}, outputs));
  for (Tensor& output : outputs) output = output.Dense().value();
  return outputs;
}

}  // namespace

OptimizerTester::OptimizerTester(const Build& build, const opt::OptimizerOptions& options,
                                 int opset)
    : before_(BuildGraph(build, opset)), after_(BuildGraph(build, opset)) {
  auto report = opt::Optimize(*after_, options);
  EXPECT_TRUE(report.ok()) << report.status();
  if (report.ok()) report_ = *std::move(report);
  for (const Rewrite& rewrite : report_) {
    EXPECT_FALSE(absl::StrContains(rewrite.reason, "no fixpoint")) << rewrite.reason;
  }
  const absl::Status valid = CheckGraph(*after_);
  EXPECT_TRUE(valid.ok()) << valid;
}

std::map<std::string, int> OptimizerTester::Counts() const {
  std::map<std::string, int> counts;
  for (const Node* node : after_->nodes()) ++counts[node->qualified_op_type()];
  return counts;
}

int OptimizerTester::Count(const std::string& op_type) const {
  const auto counts = Counts();
  const auto found = counts.find(op_type);
  return found == counts.end() ? 0 : found->second;
}

std::string OptimizerTester::Ops() const {
  return absl::StrJoin(Counts(), " ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.first);
    if (entry.second > 1) absl::StrAppend(out, "*", entry.second);
  });
}

std::vector<std::string> OptimizerTester::Misses(const std::string& pass) const {
  std::vector<std::string> reasons;
  for (const Rewrite& rewrite : report_) {
    if (!rewrite.applied && rewrite.pass == pass) reasons.push_back(rewrite.reason);
  }
  return reasons;
}

int OptimizerTester::Applied(const std::string& pass) const {
  int applied = 0;
  for (const Rewrite& rewrite : report_) applied += rewrite.applied && rewrite.pass == pass;
  return applied;
}

OptimizerTester& OptimizerTester::Dim(const std::string& symbol, int64_t extent) {
  dims_[symbol] = extent;
  return *this;
}

OptimizerTester& OptimizerTester::Feed(const std::string& input, Tensor tensor) {
  fed_[input] = std::move(tensor);
  return *this;
}

OptimizerTester& OptimizerTester::Scale(const std::string& input, float scale) {
  scales_[input] = scale;
  return *this;
}

std::vector<Tensor> OptimizerTester::Inputs() const {
  std::mt19937 generator(Seed());
  std::vector<Tensor> inputs;
  for (const Value* input : before_->inputs()) {
    if (const auto fed = fed_.find(input->name()); fed != fed_.end()) {
      inputs.push_back(fed->second);
      continue;
    }
    std::vector<int64_t> shape;
    for (const attnrun::Dim& dim : input->type().shape.value_or(std::vector<attnrun::Dim>())) {
      const auto extent = dims_.find(dim.symbol);
      shape.push_back(dim.value >= 0 ? dim.value : extent == dims_.end() ? 3 : extent->second);
    }
    const DataType type = input->type().element;
    const auto scale = scales_.find(input->name());
    const float deviation = scale == scales_.end() ? 1 : scale->second;
    inputs.push_back(IsFloatingPoint(type)
                         ? Converted(RandomFloats(shape, generator, deviation), type)
                         : RandomInts(type, shape, generator, 0, 1));
  }
  return inputs;
}

void OptimizerTester::ExpectSameResults(double tolerance) const {
  const std::vector<Tensor> inputs = Inputs();
  const auto expected = Run(*before_, inputs, false);
  ASSERT_TRUE(expected.ok()) << expected.status();
  for (const bool kernels : {false, true}) {
    SCOPED_TRACE(kernels ? "optimized, with kernels" : "optimized, reference code");
    const auto actual = Run(*after_, inputs, kernels);
    ASSERT_TRUE(actual.ok()) << actual.status();
    ASSERT_EQ(actual->size(), expected->size());
    for (size_t i = 0; i < expected->size(); ++i) {
      SCOPED_TRACE(absl::StrCat("output ", i));
      ExpectClose((*actual)[i], (*expected)[i], tolerance);
    }
  }
}

}  // namespace attnrun::testing
