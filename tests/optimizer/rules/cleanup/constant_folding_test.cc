// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

Value* Weight(GraphBuilder& b, const std::string& name, const std::vector<int64_t>& shape) {
  std::mt19937 generator(1);
  return b.Constant(name, RandomFloats(shape, generator));
}

TEST(ConstantFoldingTest, FoldsAComputedWeightOfMegabytes) {
  // Weight normalization: a direction times its length.
  const OptimizerTester test([](GraphBuilder& b) {
    Value* direction = Weight(b, "direction", {600, 1000});
    Value* norm = b.Op("ReduceL2", {direction, b.Constant<int64_t>("axes", {1}, {0})},
                       {{"keepdims", int64_t{1}}});
    Value* scale = b.Op("Div", {Weight(b, "length", {1, 1000}), norm});
    Value* x = b.Input("x", DataType::kFloat, {"batch", 600});
    b.Output(b.Op("MatMul", {x, b.Op("Mul", {direction, scale})}));
  });
  EXPECT_EQ(test.Ops(), "attnrun.Linear");
  test.ExpectSameResults(600 * kEpsilon);
}

TEST(ConstantFoldingTest, LeavesConstantsThatOutgrowTheirInputs) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* shape = b.Constant<int64_t>("shape", {2}, {600, 1000});
    Value* x = b.Input("x", DataType::kFloat, {"batch", 600});
    b.Output(b.Op("MatMul", {x, b.Op("Expand", {Weight(b, "row", {1, 1000}), shape})}));
  });
  EXPECT_EQ(test.Applied("constant_folding"), 0);
  EXPECT_EQ(test.Count("Expand"), 1);
}

// The final tensor would have 2^60 elements; the run refuses it.
TEST(ConstantFoldingTest, StopsAtHugeTensors) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* doubled = b.Constant<float>("two", {2}, {1, 2});
    for (int i = 0; i < 60; ++i) {
      doubled = b.Op("Concat", {doubled, doubled}, {{"axis", int64_t{0}}});
    }
    b.Output(b.Op("Add", {b.Input("x", DataType::kFloat, {1}), doubled}));
  });
  EXPECT_GT(test.Count("Concat"), 30);
  for (const Value* value : test.graph().values()) {
    if (value->constant() == nullptr) continue;
    EXPECT_LE(value->constant()->byte_size(), 256U << 20);
  }
}

TEST(ConstantFoldingTest, LeavesSumsThatTakeLong) {
  for (const auto& [side, folded] : {std::pair(200, 1), std::pair(100'000, 0)}) {
    const OptimizerTester test([&](GraphBuilder& b) {
      Value* sum = b.Op("Einsum", {Weight(b, "a", {side}), Weight(b, "b", {side})},
                        {{"equation", std::string("i,j->")}});
      b.Output(b.Op("Add", {b.Input("x", DataType::kFloat, {1}), sum}));
    });
    EXPECT_EQ(test.Applied("constant_folding"), folded);
  }
}

// Otherwise a model with weights stored as integers would convert them to floats in every run.
TEST(ConstantFoldingTest, WeightsStoredAsIntegersBecomeFloatsOnce) {
  constexpr int64_t kExtent = 1100;
  OptimizerTester test([](GraphBuilder& b) {
    std::mt19937 generator(7);
    Value* stored =
        b.Constant("w", RandomInts(DataType::kInt8, {kExtent, kExtent}, generator, -9, 9));
    Value* scale = b.Constant("s", Make<float>({}, {0.01F}));
    Value* x = b.Input("x", DataType::kFloat, {2, kExtent});
    b.Output(b.Op("MatMul", {x, b.Op("DequantizeLinear", {stored, scale})}));
  });
  EXPECT_EQ(test.Ops(), "attnrun.Linear");
  test.ExpectSameResults(kExtent * kEpsilon);
}

}  // namespace
}  // namespace attnrun::testing
