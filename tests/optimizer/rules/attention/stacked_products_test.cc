// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/attention_graph.h"

namespace attnrun::testing {
namespace {

std::vector<Value*> Halves(GraphBuilder& b, Value* x, int64_t axis) {
  return b.Ops("Split", 2, {x}, {{"axis", axis}, {"num_outputs", int64_t{2}}});
}

Value* Joined(GraphBuilder& b, const std::vector<Value*>& parts, int64_t axis) {
  return b.Op("Concat", parts, {{"axis", axis}});
}

Value* Softmax(GraphBuilder& b, Value* x) { return b.Op("Softmax", {x}, {{"axis", int64_t{-1}}}); }

TEST(StackedProductsTest, ScoresMayBeComputedHeadByHead) {
  for (const bool stacked : {false, true}) {
    SCOPED_TRACE(stacked);
    OptimizerTester test([&](GraphBuilder& b) {
      const std::vector<Value*> q = Halves(b, Heads(b, Input(b, "q")), 1);
      const std::vector<Value*> k = Halves(b, Heads(b, Input(b, "k"), true), 1);
      std::vector<Value*> scores;
      for (int head : {0, 1}) {
        const auto matrix = [&](Value* x) {
          return stacked ? b.Op("Squeeze", {x, b.Constant<int64_t>("one", {1}, {1})}) : x;
        };
        Value* s = b.Op("MatMul", {matrix(q[head]), matrix(k[head])});
        if (stacked) s = b.Op("Unsqueeze", {s, b.Constant<int64_t>("one", {1}, {2})});
        scores.push_back(s);
      }
      Value* p = Softmax(b, Joined(b, scores, stacked ? 2 : 1));
      if (stacked) p = Transposed(b, p, {0, 2, 1, 3});
      b.Output(Finish(b, p));
    });
    ExpectOneAttention(std::move(test), kAttentionTolerance);
  }
}

TEST(StackedProductsTest, ProbabilitiesMayBeCut) {
  OptimizerTester test([](GraphBuilder& b) {
    const std::vector<Value*> p = Halves(b, Softmax(b, Scores(b)), 1);
    const std::vector<Value*> v = Halves(b, Heads(b, Input(b, "v")), 1);
    b.Output(Joined(b, {b.Op("MatMul", {p[0], v[0]}), b.Op("MatMul", {p[1], v[1]})}, 1));
  });
  ExpectOneAttention(std::move(test), kAttentionTolerance);
}

TEST(StackedProductsTest, ResultsMayBeSideBySide) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* one = b.Constant<int64_t>("one", {1}, {1});
    std::vector<Value*> results;
    const std::vector<Value*> p = Halves(b, Softmax(b, Scores(b)), 1);
    const std::vector<Value*> v = Halves(b, Heads(b, Input(b, "v")), 1);
    for (const int head : {0, 1}) {
      results.push_back(
          b.Op("MatMul", {b.Op("Squeeze", {p[head], one}), b.Op("Squeeze", {v[head], one})}));
    }
    b.Output(Joined(b, results, -1));
  });
  ExpectOneAttention(std::move(test), kAttentionTolerance);
}

// The probabilities are one value, not parts of one.
TEST(StackedProductsTest, ChannelsMayBeMultipliedInHalves) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* p = Softmax(b, Scores(b));
    const std::vector<Value*> v = Halves(b, Heads(b, Input(b, "v")), 3);
    b.Output(Joined(b, {b.Op("MatMul", {p, v[0]}), b.Op("MatMul", {p, v[1]})}, 3));
  });
  ExpectOneAttention(std::move(test), kAttentionTolerance);
}

// Values of their own would have to be copied together.
TEST(StackedProductsTest, OperandsMustBePartsOfOneValue) {
  OptimizerTester test([](GraphBuilder& b) {
    std::vector<Value*> scores;
    for (const std::string name : {"a", "b"}) {
      Value* q = b.Input("q" + name, DataType::kFloat, {"batch", 1, "seq", 4});
      Value* k = b.Input("k" + name, DataType::kFloat, {"batch", 1, 4, "seq"});
      scores.push_back(b.Op("MatMul", {q, k}));
    }
    b.Output(Finish(b, Softmax(b, Joined(b, scores, 1))));
  });
  EXPECT_EQ(test.Applied("stacked_products"), 0);
  test.ExpectSameResults(kAttentionTolerance);
}

}  // namespace
}  // namespace attnrun::testing
