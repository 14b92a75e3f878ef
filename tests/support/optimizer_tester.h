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

// A graph before and after the optimizer: its operators, the report of the passes, and a comparison
// of the results.
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

  // Calls `build` twice, for two equal graphs, and optimizes one of them. Errors are test failures.
  explicit OptimizerTester(const Build& build, const opt::OptimizerOptions& options = {},
                           int opset = 20);

  // Counts the nodes of the optimized graph by operator; "attnrun.Linear" if the domain is not
  // ai.onnx.
  std::map<std::string, int> Counts() const;
  int Count(const std::string& op_type) const;
  // The counts as sorted text: "Add Mul*2 Softmax".
  std::string Ops() const;

  const Graph& graph() const { return *after_; }
  const std::vector<Rewrite>& report() const { return report_; }
  // The reasons for which a pass left a node unchanged.
  std::vector<std::string> Misses(const std::string& pass) const;
  // The number of rewrites that a pass applied.
  int Applied(const std::string& pass) const;

  // Sets the extent of a symbolic dimension in later runs; 3 by default.
  OptimizerTester& Dim(const std::string& symbol, int64_t extent);
  // Sets an input of later runs. By default inputs are random: floats of a normal distribution,
  // integers 0 and 1, bool.
  OptimizerTester& Feed(const std::string& input, Tensor tensor);

  // Sets the standard deviation of a random input in later runs; 1 by default. Attentions with
  // unscaled scores get small inputs, because a score's rounding error is a relative error of its
  // weight.
  OptimizerTester& Scale(const std::string& input, float scale);

  // Runs both graphs, the optimized one with reference code and with kernels, and expects all
  // outputs to agree as in ExpectClose, with this `tolerance`.
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
