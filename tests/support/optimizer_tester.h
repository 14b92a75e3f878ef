// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SUPPORT_OPTIMIZER_TESTER_H_
#define ATTNRUN_TESTS_SUPPORT_OPTIMIZER_TESTER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "optimizer/optimizer.h"
#include "support/graph_builder.h"
#include "support/op_tester.h"

namespace attnrun::testing {

// A graph before and after the optimizer: what its operators became, what the passes reported, and
// whether it still computes the same.
//
//   OptimizerTester test([](GraphBuilder& b) {
//     Value* x = b.Input("x", DataType::kFloat, {"batch", 8});
//     b.Output(b.Op("Mul", {x, b.Op("Sigmoid", {x})}));
//   });
//   EXPECT_EQ(test.Ops(), "Swish");
//   test.ExpectSameResults(8 * kEpsilon);
class OptimizerTester {
 public:
  using Build = std::function<void(GraphBuilder&)>;

  // Calls `build` twice, for equal graphs, and optimizes one of them. Errors are test failures.
  explicit OptimizerTester(const Build& build, const opt::OptimizerOptions& options = {},
                           int opset = 20);

  // Nodes of the optimized graph by operator, "attnrun.Linear" where the domain is not ai.onnx.
  std::map<std::string, int> Counts() const;
  int Count(const std::string& op_type) const;
  // The same as text, sorted: "Add Mul*2 Softmax".
  std::string Ops() const;

  const Graph& graph() const { return *after_; }
  const std::vector<Rewrite>& report() const { return report_; }
  // Reasons for which a pass left something as it was.
  std::vector<std::string> Misses(const std::string& pass) const;
  // How many rewrites of a pass were applied.
  int Applied(const std::string& pass) const;

  // The extent of a symbolic dimension in the runs to come; 3 if not said.
  OptimizerTester& Dim(const std::string& symbol, int64_t extent);
  // What an input holds in the runs to come; random if not said: floats of a normal distribution,
  // integers 0 and 1, bool.
  OptimizerTester& Feed(const std::string& input, Tensor tensor);

  // The standard deviation of a random input in the runs to come; 1 if not said. Attentions whose
  // scores nothing scales get small inputs: a rounding error of a score is a relative one of its
  // weight.
  OptimizerTester& Scale(const std::string& input, float scale);

  // Runs both graphs, the optimized one with reference code and with kernels, and expects of all
  // outputs what ExpectClose does, in units of `tolerance`.
  void ExpectSameResults(double tolerance) const;

 private:
  std::vector<Tensor> Inputs() const;

  std::unique_ptr<Graph> before_;
  std::unique_ptr<Graph> after_;
  std::vector<Rewrite> report_;
  std::map<std::string, int64_t> dims_;
  std::map<std::string, Tensor> fed_;
  std::map<std::string, float> scales_;
};

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SUPPORT_OPTIMIZER_TESTER_H_
