// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "support/attention_graph.h"

namespace attnrun::testing {
namespace {

// Products of eight channels in place of four, and sums of both.
constexpr double kTolerance = 2 * kAttentionTolerance;

// The scores of another stream, with two heads of 4 channels.
Value* OtherScores(GraphBuilder& b) {
  return b.Op("MatMul", {Heads(b, Input(b, "q2")), Heads(b, Input(b, "k2"), true)});
}

Value* Sum(GraphBuilder& b, Value* s) {
  return b.Op("Add",
              {b.Op("Div", {s, Number(b, 2)}), b.Op("Mul", {OtherScores(b), Number(b, 0.25F)})});
}

TEST(JoinedProductsTest, SumsOfScoresBecomeOneProduct) {
  const std::vector<Between> spellings = {
      Sum, [](GraphBuilder& b, Value* s) { return b.Op("Add", {OtherScores(b), s}); },
      [](GraphBuilder& b, Value* s) {
        Value* bias = b.Input("bias", DataType::kFloat, {"batch", 1, 1, "seq"});
        return b.Op("Add", {b.Op("Mul", {Sum(b, s), Number(b, 0.5F)}), bias});
      },
      // One head of keys serves all.
      [](GraphBuilder& b, Value* s) {
        Value* k = b.Input("k2", DataType::kFloat, {"batch", 1, 4, "seq"});
        return b.Op("Add", {s, b.Op("MatMul", {Heads(b, Input(b, "q2")), k})});
      }};
  for (size_t i = 0; i < spellings.size(); ++i) {
    SCOPED_TRACE(i);
    OptimizerTester test = WithScores(spellings[i]);
    ExpectOneAttention(std::move(test), kTolerance);
  }
}

// In LiLT both streams add both scores, each in its own order.
TEST(JoinedProductsTest, TwoStreamsShareOneAttention) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* text = b.Op("Div", {Scores(b), Number(b, 2)});
    Value* layout = b.Op("Div", {OtherScores(b), Number(b, 4)});
    Value* mask = b.Input("mask", DataType::kFloat, {"batch", 1, 1, "seq"});
    const auto attend = [&](Value* x, Value* y, Value* v) {
      Value* scores = b.Op("Add", {b.Op("Add", {x, y}), mask});
      return b.Op("MatMul", {b.Op("Softmax", {scores}), v});
    };
    b.Output(attend(text, layout, Heads(b, Input(b, "v"))));
    b.Output(attend(layout, text, b.Input("w", DataType::kFloat, {"batch", 2, "seq", 3})));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  EXPECT_EQ(test.Count("MatMul") + test.Count("Softmax"), 0);
  test.ExpectSameResults(kTolerance);
  test.Dim("batch", 2).Dim("seq", 70).ExpectSameResults(kTolerance);
}

// With few queries and many keys, as of a cache, the keys are not copied.
TEST(JoinedProductsTest, MoreKeysThanQueriesStay) {
  const OptimizerTester test([](GraphBuilder& b) {
    const auto scores = [&](const char* q, const char* k) {
      return b.Op("MatMul", {b.Input(q, DataType::kFloat, {"batch", 2, "seq", 4}),
                             b.Input(k, DataType::kFloat, {"batch", 2, 4, "keys"})});
    };
    Value* p = b.Op("Softmax", {b.Op("Add", {scores("q", "k"), scores("q2", "k2")})});
    b.Output(b.Op("MatMul", {p, b.Input("v", DataType::kFloat, {"batch", 2, "keys", 4})}));
  });
  EXPECT_EQ(test.Count("Concat"), 0);
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  test.ExpectSameResults(kTolerance);
}

TEST(JoinedProductsTest, ScoresThatAreReadStay) {
  const OptimizerTester test = WithScores([](GraphBuilder& b, Value* s) {
    Value* other = OtherScores(b);
    b.Output(other);
    return b.Op("Add", {s, other});
  });
  EXPECT_EQ(test.Count("Concat"), 0);
  test.ExpectSameResults(kTolerance);
}

TEST(JoinedProductsTest, ValuesOfValuesStay) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* p = b.Op("Softmax", {Scores(b)});
    Value* once = b.Op("MatMul", {p, Heads(b, Input(b, "v"))});
    b.Output(b.Op("MatMul", {p, once}));
  });
  EXPECT_EQ(test.Count("Concat"), 0);
  test.ExpectSameResults(kTolerance);
}

}  // namespace
}  // namespace attnrun::testing
