// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "support/attention_graph.h"

namespace attnrun::testing {
namespace {

// Scores are sums of 4 products of numbers up to 5, whose errors the exponential magnifies.
constexpr double kTolerance = 256 * kEpsilon;

// m ? x : other, as tf2onnx writes it.
Value* Selected(GraphBuilder& b, Value* mask, Value* x, Value* other) {
  const AttributeMap to_float = {{"to", int64_t{1}}};
  Value* open = b.Op("Cast", {mask}, to_float);
  Value* closed = b.Op("Cast", {b.Op("Not", {mask})}, to_float);
  return b.Op("Add", {b.Op("Mul", {x, open}), b.Op("Mul", {closed, other})});
}

// Keras and NeMo mask the scores, and the probabilities again.
OptimizerTester MaskedTwice(float least) {
  return OptimizerTester([=](GraphBuilder& b) {
    Value* q = b.Input("q", DataType::kFloat, {"batch", 2, "queries", 4});
    Value* k = b.Input("k", DataType::kFloat, {"batch", 2, "keys", 4});
    Value* v = b.Input("v", DataType::kFloat, {"batch", 2, "keys", 4});
    Value* padding = b.Input("padding", DataType::kBool, {"batch", "keys"});
    Value* mask = b.Op("Unsqueeze", {padding, Vector(b, {1, 2})});
    Value* scores = b.Op("MatMul", {q, Transposed(b, k, {0, 1, 3, 2})});
    Value* masked = Selected(b, mask, scores, b.Constant<float>("least", {}, {least}));
    Value* p = b.Op("Softmax", {masked}, {{"axis", int64_t{-1}}});
    Value* kept = Selected(b, mask, p, b.Constant<float>("zero", {}, {0}));
    b.Output(b.Op("MatMul", {kept, v}));
  });
}

TEST(SelectedScoresTest, BothMasksBecomeThatOfTheAttention) {
  for (const float least : {-1e9F, -1e4F}) {
    for (const int64_t keys : {1, 2, 7}) {
      OptimizerTester test = MaskedTwice(least);
      EXPECT_EQ(test.Count("attnrun.Attention"), 1);
      EXPECT_EQ(test.Count("Where") + test.Count("Mul") + test.Count("Add"), 0);
      test.Dim("keys", keys).ExpectSameResults(kTolerance);
      // Rows without a key are 0.
      const Tensor none = MakeBool({2, keys}, std::vector<int>(2 * keys, 0));
      test.Dim("batch", 2).Feed("padding", none).ExpectSameResults(kTolerance);
    }
  }
}

// Beside scores like these, a key of -20 would have a weight.
TEST(SelectedScoresTest, AScoreThatIsNotFarBelowStays) {
  OptimizerTester test = MaskedTwice(-20);
  EXPECT_EQ(test.Count("attnrun.Attention"), 0);
  EXPECT_EQ(test.Count("Where"), 2);
  test.Dim("keys", 7).ExpectSameResults(kTolerance);
}

// Keras's Attention subtracts 1e9 from the scores of masked keys.
TEST(SelectedScoresTest, LowerScoresOfMaskedKeysAreAMask) {
  const auto lower = [](GraphBuilder& b, Value* s) { return b.Op("Sub", {s, Number(b, 1e9F)}); };
  const std::vector<std::function<Value*(GraphBuilder&, Value*, Value*)>> spellings = {
      [=](GraphBuilder& b, Value* mask, Value* s) { return b.Op("Where", {mask, s, lower(b, s)}); },
      [=](GraphBuilder& b, Value* mask, Value* s) {
        Value* added = b.Op("Add", {Number(b, -1e9F), s});
        return b.Op("Where", {b.Op("Not", {mask}), added, s});
      },
      [=](GraphBuilder& b, Value* mask, Value* s) { return Selected(b, mask, s, lower(b, s)); },
  };
  for (size_t i = 0; i < spellings.size(); ++i) {
    SCOPED_TRACE(i);
    OptimizerTester test = WithScores([&](GraphBuilder& b, Value* s) {
      return spellings[i](b, b.Input("mask", DataType::kBool, {"batch", 1, 1, "seq"}), s);
    });
    EXPECT_EQ(test.Count("attnrun.Attention"), 1);
    EXPECT_EQ(test.Count("Softmax") + test.Count("Sub"), 0);
    test.Dim("batch", 2).Dim("seq", 3).ExpectSameResults(kTolerance);
    // Without any key, the differences of the scores are lost beside 1e9.
    test.Feed("mask", MakeBool({2, 1, 1, 3}, {0, 0, 0, 1, 0, 0})).ExpectSameResults(kTolerance);
  }
}

TEST(SelectedScoresTest, ANumberOfMoreAxesStays) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"rows", 3});
    Value* mask = b.Input("mask", DataType::kBool, {"rows", 3});
    Value* lower = b.Op("Sub", {x, b.Constant<float>("number", {1, 1, 1}, {1e9F})});
    b.Output(b.Op("Softmax", {b.Op("Where", {mask, x, lower})}, {{"axis", int64_t{-1}}}));
  });
  test.ExpectSameResults(kTolerance);
}

// Numbers that the sum excludes may be infinite, and make it NaN.
TEST(SelectedScoresTest, OtherSumsStay) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 4});
    Value* y = b.Input("y", DataType::kFloat, {"batch", 4});
    b.Output(Selected(b, b.Input("m", DataType::kBool, {"batch", 4}), x, y));
  });
  EXPECT_EQ(test.Count("Where"), 0);
}

}  // namespace
}  // namespace attnrun::testing
