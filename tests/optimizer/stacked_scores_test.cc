#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "support/attention_graph.h"

namespace attnrun::testing {
namespace {

using Order = std::vector<int64_t>;

Value* Turned(GraphBuilder& b, Value* x, const Order& order = {0, 2, 1, 3, 4}) {
  return b.Op("Transpose", {x}, {{"perm", order}});
}

// The queries of 2 x 2 heads [batch, 2, 2, seq, 4] by keys that the heads of one group share.
Value* Products(GraphBuilder& b) {
  Value* q = Shaped(b, b.Input("q", DataType::kFloat, {"batch", "seq", 16}), {0, 0, 2, 2, 4});
  Value* k = Shaped(b, b.Input("k", DataType::kFloat, {"batch", "seq", 8}), {0, 0, 2, 1, 4});
  return b.Op("MatMul", {Turned(b, q, {0, 2, 3, 1, 4}), Turned(b, k, {0, 2, 3, 4, 1})});
}

Value* ByValues(GraphBuilder& b, Value* probabilities) {
  Value* v = Shaped(b, b.Input("v", DataType::kFloat, {"batch", "seq", 8}), {0, 0, 2, 1, 4});
  Value* y = b.Op("MatMul", {Turned(b, probabilities), Turned(b, v, {0, 2, 3, 1, 4})});
  return Shaped(b, Turned(b, y, {0, 3, 1, 2, 4}), {0, 0, 16});
}

Value* Softmax(GraphBuilder& b, Value* x, int64_t axis = -1) {
  return b.Op("Softmax", {x}, {{"axis", axis}});
}

TEST(StackedScoresTest, GroupsMayComeBeforeHeads) {
  const std::vector<Between> spellings = {
      [](GraphBuilder&, Value* s) { return s; },
      [](GraphBuilder& b, Value* s) {
        Value* mask = b.Input("mask", DataType::kFloat, {"seq", "seq"});
        return b.Op("Add", {b.Op("Mul", {s, Number(b, 0.5F)}), mask});
      },
      // Other numbers for each head of each group, and for each group.
      [](GraphBuilder& b, Value* s) {
        return b.Op("Add", {s, b.Constant<float>("c", {2, 2, 1, 1}, {0, 1, 2, 3})});
      },
      [](GraphBuilder& b, Value* s) {
        Value* bias = b.Input("bias", DataType::kFloat, {"batch", 2, 1, "seq", "seq"});
        return b.Op("Add", {bias, s});
      },
      [](GraphBuilder& b, Value* s) {
        Value* mask = b.Input("open", DataType::kBool, {"batch", 1, 1, "seq", "seq"});
        return b.Op("Where", {mask, s, Number(b, -1e9F)});
      }};
  for (size_t i = 0; i < spellings.size(); ++i) {
    SCOPED_TRACE(i);
    OptimizerTester test([&](GraphBuilder& b) {
      b.Output(ByValues(b, Softmax(b, spellings[i](b, Turned(b, Products(b))))));
    });
    ExpectOneAttention(std::move(test), 2 * kAttentionTolerance);
  }
}

// Heads "(g h)": those of a group lie side by side, each with keys of its own.
TEST(StackedScoresTest, GroupsThatShareKeysMayLieOutside) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* q = Shaped(b, b.Input("q", DataType::kFloat, {"batch", "seq", 24}), {0, 0, 3, 2, 4});
    Value* k = Shaped(b, b.Input("k", DataType::kFloat, {"batch", "seq", 8}), {0, 0, 1, 2, 4});
    Value* v = Shaped(b, b.Input("v", DataType::kFloat, {"batch", "seq", 8}), {0, 0, 1, 2, 4});
    Value* s = b.Op("MatMul", {Turned(b, q, {0, 2, 3, 1, 4}), Turned(b, k, {0, 2, 3, 4, 1})});
    Value* mask = b.Input("mask", DataType::kFloat, {"batch", 1, 1, 1, "seq"});
    Value* p = Softmax(b, b.Op("Add", {b.Op("Mul", {s, Number(b, 0.5F)}), mask}));
    Value* y = b.Op("MatMul", {p, Turned(b, v, {0, 2, 3, 1, 4})});
    b.Output(Shaped(b, Turned(b, y, {0, 3, 1, 2, 4}), {0, 0, 24}));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  EXPECT_EQ(test.Count("MatMul") + test.Count("Softmax"), 0);
  test.ExpectSameResults(2 * kAttentionTolerance);
  test.Dim("batch", 2).Dim("seq", 1).ExpectSameResults(2 * kAttentionTolerance);
}

TEST(StackedScoresTest, ScoresThatOthersReadStayInTheirOrder) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* scores = Turned(b, Products(b));
    b.Output(scores);
    b.Output(ByValues(b, Softmax(b, scores)));
  });
  EXPECT_EQ(test.Count("Softmax"), 1);
  test.ExpectSameResults(2 * kAttentionTolerance);
}

TEST(StackedScoresTest, OnlySoftmaxOverKeys) {
  for (const int64_t axis : {1, 3}) {
    OptimizerTester test(
        [&](GraphBuilder& b) { b.Output(ByValues(b, Softmax(b, Turned(b, Products(b)), axis))); });
    EXPECT_EQ(test.Count("Softmax"), 1);
    test.ExpectSameResults(2 * kAttentionTolerance);
  }
}

}  // namespace
}  // namespace attnrun::testing
