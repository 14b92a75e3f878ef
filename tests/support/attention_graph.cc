// SPDX-License-Identifier: Apache-2.0
#include "support/attention_graph.h"

#include <gtest/gtest.h>

#include <vector>

namespace attnrun::testing {

Value* Heads(GraphBuilder& b, Value* x, bool transposed) {
  const std::vector<int64_t> order =
      transposed ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 2, 1, 3};
  return Transposed(b, Shaped(b, x, {0, 0, 2, 4}), order);
}

Value* Input(GraphBuilder& b, const char* name) {
  return b.Input(name, DataType::kFloat, {"batch", "seq", 8});
}

Value* Scores(GraphBuilder& b) {
  return b.Op("MatMul", {Heads(b, Input(b, "q")), Heads(b, Input(b, "k"), true)});
}

Value* Finish(GraphBuilder& b, Value* probabilities) {
  Value* y = b.Op("MatMul", {probabilities, Heads(b, Input(b, "v"))});
  return Shaped(b, Transposed(b, y, {0, 2, 1, 3}), {0, 0, 8});
}

OptimizerTester WithScores(const Between& between) {
  return OptimizerTester(
      [&](GraphBuilder& b) { b.Output(Finish(b, b.Op("Softmax", {between(b, Scores(b))}))); });
}

void ExpectOneAttention(OptimizerTester test, double tolerance) {
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  EXPECT_EQ(test.Count("MatMul") + test.Count("Softmax"), 0);
  test.ExpectSameResults(tolerance);
  test.Dim("batch", 2).Dim("seq", 1).ExpectSameResults(tolerance);
  test.Dim("batch", 1).Dim("seq", 70).ExpectSameResults(tolerance);
}

}  // namespace attnrun::testing
