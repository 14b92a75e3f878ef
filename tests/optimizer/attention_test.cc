#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kEpsilon = 1.1920929e-7;
// Scores of 4 products, exponentials of them, sums over at most 8 keys.
constexpr double kTolerance = 64 * kEpsilon;

// Heads [batch, 2, seq, 4] of x [batch, seq, 8], positions and channels swapped for keys.
Value* Heads(GraphBuilder& b, Value* x, bool transposed = false) {
  Value* heads = b.Op("Reshape", {x, b.Constant<int64_t>("heads", {4}, {0, 0, 2, 4})});
  const std::vector<int64_t> order =
      transposed ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 2, 1, 3};
  return b.Op("Transpose", {heads}, {{"perm", order}});
}
Value* Input(GraphBuilder& b, const char* name) {
  return b.Input(name, DataType::kFloat, {"batch", "seq", 8});
}
Value* Scores(GraphBuilder& b) {
  return b.Op("MatMul", {Heads(b, Input(b, "q")), Heads(b, Input(b, "k"), true)});
}
// The rest of attention: the product with V and the heads side by side.
Value* Finish(GraphBuilder& b, Value* probabilities) {
  Value* y = b.Op("MatMul", {probabilities, Heads(b, Input(b, "v"))});
  y = b.Op("Transpose", {y}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  return b.Op("Reshape", {y, b.Constant<int64_t>("merged", {3}, {0, 0, 8})});
}
Value* Number(GraphBuilder& b, float number) { return b.Constant<float>("c", {}, {number}); }

using Between = std::function<Value*(GraphBuilder&, Value*)>;

// Attention with something done to the scores.
OptimizerTester WithScores(const Between& between) {
  return OptimizerTester(
      [&](GraphBuilder& b) { b.Output(Finish(b, b.Op("Softmax", {between(b, Scores(b))}))); });
}

TEST(AttentionFusionTest, SpellingsOfScaleBiasMaskAndCapAreOneOperator) {
  const std::vector<Between> spellings = {
      [](GraphBuilder&, Value* s) { return s; },
      [](GraphBuilder& b, Value* s) { return b.Op("Div", {s, Number(b, 2)}); },
      [](GraphBuilder& b, Value* s) {
        Value* bias = b.Input("bias", DataType::kFloat, {1, 2, "seq", "seq"});
        return b.Op("Add", {bias, b.Op("Mul", {Number(b, 0.5F), s})});
      },
      [](GraphBuilder& b, Value* s) {
        Value* mask = b.Input("mask", DataType::kBool, {"batch", 1, 1, "seq"});
        return b.Op("Where", {mask, s, Number(b, -1e9F)});
      },
      [](GraphBuilder& b, Value* s) {
        Value* mask = b.Input("mask", DataType::kBool, {"batch", 1, 1, "seq"});
        return b.Op("Where", {mask, Number(b, -3e38F), s});
      },
      [](GraphBuilder& b, Value* s) {
        Value* cap = Number(b, 3);
        return b.Op("Mul", {b.Op("Tanh", {b.Op("Div", {s, cap})}), cap});
      }};
  for (size_t i = 0; i < spellings.size(); ++i) {
    SCOPED_TRACE(i);
    OptimizerTester test = WithScores(spellings[i]);
    EXPECT_EQ(test.Count("attnrun.Attention"), 1);
    EXPECT_EQ(test.Count("MatMul") + test.Count("Softmax") + test.Count("Transpose"), 0);
    test.ExpectSameResults(kTolerance);
    test.Dim("batch", 2).Dim("seq", 1).ExpectSameResults(kTolerance);
  }
}

TEST(AttentionFusionTest, WhatStandsInTheWayIsNamed) {
  const OptimizerTester between =
      WithScores([](GraphBuilder& b, Value* s) { return b.Op("Relu", {s}); });
  EXPECT_EQ(between.Count("attnrun.Attention"), 0);
  EXPECT_THAT(between.Misses("attention"), ElementsAre(HasSubstr("(Relu)")));
  const OptimizerTester read = WithScores([](GraphBuilder& b, Value* s) {
    b.Output(s);
    return b.Op("Div", {s, Number(b, 2)});
  });
  EXPECT_EQ(read.Count("attnrun.Attention"), 0);
  EXPECT_THAT(read.Misses("attention"), ElementsAre(HasSubstr("is a graph output")));
  read.ExpectSameResults(kTolerance);
}

TEST(AttentionFusionTest, ASoftmaxOverQueriesIsNone) {
  const OptimizerTester test([](GraphBuilder& b) {
    b.Output(Finish(b, b.Op("Softmax", {Scores(b)}, {{"axis", int64_t{-2}}})));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 0);
  EXPECT_THAT(test.Misses("attention"), ElementsAre(HasSubstr("another axis")));
}

TEST(AttentionFusionTest, ProbabilitiesThatAreReadAreASecondOutput) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* probabilities = b.Op("Softmax", {Scores(b)});
    b.Output(Finish(b, probabilities)).Output(probabilities);
  });
  EXPECT_EQ(test.Ops(), "attnrun.Attention");
  EXPECT_THAT(test.Misses("attention"), IsEmpty());
  test.ExpectSameResults(kTolerance);
}

TEST(AttentionFusionTest, AClassifiersSoftmaxIsNoNearMiss) {
  const OptimizerTester test([](GraphBuilder& b) { b.Output(b.Op("Softmax", {Input(b, "x")})); });
  EXPECT_EQ(test.Ops(), "Softmax");
  EXPECT_THAT(test.Misses("attention"), IsEmpty());
}

}  // namespace
}  // namespace attnrun::testing
