// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "support/attention_graph.h"

namespace attnrun::testing {
namespace {

// The sum over `axis` of the product of two inputs.
using Dims = std::initializer_list<DimSpec>;

OptimizerTester Summed(Dims left, Dims right, int64_t axis, int64_t keepdims) {
  return OptimizerTester([&](GraphBuilder& b) {
    Value* product =
        b.Op("Mul", {b.Input("a", DataType::kFloat, left), b.Input("b", DataType::kFloat, right)});
    b.Output(b.Op("ReduceSum", {product, b.Constant<int64_t>("axes", {1}, {axis})},
                  {{"keepdims", keepdims}}));
  });
}

TEST(SummedProductsTest, ScoresMayBeASum) {
  OptimizerTester test([](GraphBuilder& b) {
    const auto unsqueezed = [&](Value* x, int64_t axis) {
      return b.Op("Unsqueeze", {x, b.Constant<int64_t>("axes", {1}, {axis})});
    };
    Value* product = b.Op(
        "Mul", {unsqueezed(Heads(b, Input(b, "q")), 3), unsqueezed(Heads(b, Input(b, "k")), 2)});
    Value* s = b.Op("ReduceSum", {product, b.Constant<int64_t>("last", {1}, {-1})},
                    {{"keepdims", int64_t{0}}});
    b.Output(Finish(b, b.Op("Softmax", {s}, {{"axis", int64_t{-1}}})));
  });
  ExpectOneAttention(std::move(test), kAttentionTolerance);
}

TEST(SummedProductsTest, AnyAxisMayBeSummed) {
  for (const int64_t keepdims : {0, 1}) {
    for (const int64_t axis : {0, 1, -1}) {
      SCOPED_TRACE(axis);
      std::array<int64_t, 4> left = {3, 3, 3, 3};
      std::array<int64_t, 4> right = left;
      int next = 0;
      for (int i = 0; i < 4; ++i) {
        if (i == (axis < 0 ? 3 : axis)) continue;
        if (next == 0) left[i] = 1;
        if (next == 1) right[i] = 1;
        ++next;
      }
      const OptimizerTester test = Summed({left[0], left[1], left[2], left[3]},
                                          {right[0], right[1], right[2], right[3]}, axis, keepdims);
      EXPECT_EQ(test.Count("ReduceSum"), 0);
      EXPECT_EQ(test.Count("MatMul"), 1);
      test.ExpectSameResults(8 * kEpsilon);
    }
  }
}

// One query for each sample: each product has only one operand that is broadcast.
TEST(SummedProductsTest, ThereMayBeOneQuery) {
  OptimizerTester test([](GraphBuilder& b) {
    const auto sum = [&](Value* x, Value* y, int64_t axis) {
      return b.Op("ReduceSum", {b.Op("Mul", {x, y}), Vector(b, {axis})},
                  {{"keepdims", int64_t{0}}});
    };
    Value* q = b.Input("q", DataType::kFloat, {"batch", 1, 2, 4});
    Value* k = b.Input("k", DataType::kFloat, {"batch", "seq", 2, 4});
    Value* p = b.Op("Softmax", {sum(q, k, -1)}, {{"axis", int64_t{1}}});
    p = b.Op("Unsqueeze", {p, Vector(b, {3})});
    b.Output(sum(p, b.Input("v", DataType::kFloat, {"batch", "seq", 2, 4}), 1));
  });
  ExpectOneAttention(std::move(test), kAttentionTolerance);
}

TEST(SummedProductsTest, SumsThatAreNoProductsOfMatricesStay) {
  // One operand has all axes of the other.
  EXPECT_EQ(Summed({2, 3, 4}, {2, 1, 4}, -1, 0).Count("ReduceSum"), 1);
  // The summed axis is in one operand alone.
  EXPECT_EQ(Summed({2, 1, 4}, {2, 3, 1}, -1, 0).Count("ReduceSum"), 1);
  // Either extent may be 1.
  EXPECT_EQ(Summed({"n", 3, 1, 4}, {"m", 1, 5, 4}, -1, 0).Count("ReduceSum"), 1);
}

}  // namespace
}  // namespace attnrun::testing
