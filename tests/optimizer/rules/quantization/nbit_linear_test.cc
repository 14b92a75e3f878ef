// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/attention_graph.h"

// MatMulNBits as a Linear with another weight format.
namespace attnrun::testing {
namespace {

// Sums of 32 products of order 1 with rounded weights, then an attention or a gate.
constexpr double kTolerance = 300 * kEpsilon;
constexpr int64_t kWidth = 32;

struct Product {
  int seed = 1;
  int64_t columns = kWidth;
  int64_t block = 16;
  bool zero_points = false;
  bool bias = false;
};

Value* Multiply(GraphBuilder& b, Value* x, const Product& p) {
  std::mt19937 generator(p.seed);
  const int64_t blocks = kWidth / p.block;
  std::vector<Value*> inputs = {
      x,
      b.Constant("codes",
                 RandomInts(DataType::kUint8, {p.columns, blocks, p.block / 2}, generator, 0, 255)),
      b.Constant("scales", RandomFloats({p.columns, blocks}, generator, 0.03F))};
  if (p.zero_points) {
    inputs.push_back(b.Constant(
        "zeros", RandomInts(DataType::kUint8, {p.columns, (blocks + 1) / 2}, generator, 0, 255)));
  }
  if (p.bias) {
    inputs.resize(5, nullptr);
    inputs.push_back(b.Constant("bias", RandomFloats({p.columns}, generator)));
  }
  return b.Op("com.microsoft::MatMulNBits", inputs,
              {{"K", kWidth}, {"N", p.columns}, {"bits", int64_t{4}}, {"block_size", p.block}});
}

Value* Tokens(GraphBuilder& b) { return b.Input("x", DataType::kFloat, {"batch", "seq", kWidth}); }

Value* Heads(GraphBuilder& b, Value* x, std::vector<int64_t> permutation) {
  x = b.Op("Reshape", {x, b.Constant<int64_t>("heads", {4}, {0, 0, 2, kWidth / 2})});
  return b.Op("Transpose", {x}, {{"perm", std::move(permutation)}});
}

Value* Attend(GraphBuilder& b, const std::vector<Value*>& qkv) {
  Value* scores = b.Op("MatMul", {Heads(b, qkv[0], {0, 2, 1, 3}), Heads(b, qkv[1], {0, 2, 3, 1})});
  Value* y = b.Op("MatMul", {b.Op("Softmax", {scores}), Heads(b, qkv[2], {0, 2, 1, 3})});
  y = b.Op("Transpose", {y}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  return b.Op("Reshape", {y, b.Constant<int64_t>("joined", {3}, {0, 0, kWidth})});
}

TEST(NBitLinearFusionTest, ProjectionsOfAnAttentionBecomeOneProduct) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = Tokens(b);
    Value* y = Attend(
        b,
        {Multiply(b, x, {.seed = 1, .bias = true}),
         Multiply(b, x, {.seed = 2, .zero_points = true}),
         b.Op("Add", {Multiply(b, x, {.seed = 3}),
                      b.Constant("b", Make<float>({kWidth}, std::vector<float>(kWidth, 0.5F)))})});
    b.Output(b.Op("Add", {x, Multiply(b, y, {.seed = 4})}));
  });
  EXPECT_EQ(test.Ops(), "attnrun.Attention attnrun.Linear*2");
  EXPECT_EQ(test.Applied("qkv_projection"), 1);
  EXPECT_EQ(test.Applied("residual"), 1);
  test.ExpectSameResults(kTolerance);
}

TEST(NBitLinearFusionTest, GateAndUpBecomeOneProduct) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = Tokens(b);
    Value* gate = Multiply(b, x, {.seed = 1, .columns = 48});
    gate = b.Op("Mul", {gate, b.Op("Sigmoid", {gate})});
    b.Output(b.Op("Mul", {gate, Multiply(b, x, {.seed = 2, .columns = 48})}));
  });
  EXPECT_EQ(test.Ops(), "attnrun.GatedActivation attnrun.Linear");
  test.ExpectSameResults(kTolerance);
}

TEST(NBitLinearFusionTest, FusesAnActivationAfterABias) {
  const OptimizerTester test(
      [](GraphBuilder& b) { b.Output(b.Op("Relu", {Multiply(b, Tokens(b), {.bias = true})})); });
  EXPECT_EQ(test.Ops(), "attnrun.Linear");
  test.ExpectSameResults(kTolerance);
}

TEST(NBitLinearFusionTest, OtherBlockSizesStaySeparate) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = Tokens(b);
    b.Output(Attend(b, {Multiply(b, x, {.seed = 1}), Multiply(b, x, {.seed = 2, .block = 32}),
                        Multiply(b, x, {.seed = 3})}));
  });
  EXPECT_EQ(test.Applied("qkv_projection"), 0);
  EXPECT_EQ(test.Count("attnrun.Linear"), 3);
  test.ExpectSameResults(kTolerance);
}

TEST(NBitLinearFusionTest, OnlyRowsThatAreReadAreComputed) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* y = Multiply(b, Tokens(b), {});
    b.Output(b.Op("Gather", {y, b.Constant<int64_t>("last", {}, {-1})}, {{"axis", int64_t{1}}}));
  });
  EXPECT_EQ(test.Applied("needed_rows"), 1);
  test.ExpectSameResults(kTolerance);
}

TEST(NBitLinearFusionTest, ComputedScalesKeepTheOperator) {
  const OptimizerTester test([](GraphBuilder& b) {
    std::mt19937 generator(1);
    Value* codes = b.Constant("codes", RandomInts(DataType::kUint8, {8, 2, 8}, generator, 0, 255));
    Value* scales = b.Input("scales", DataType::kFloat, {8, 2});
    b.Output(b.Op("com.microsoft::MatMulNBits", {Tokens(b), codes, scales},
                  {{"K", kWidth}, {"N", int64_t{8}}, {"block_size", int64_t{16}}}));
  });
  EXPECT_EQ(test.Ops(), "com.microsoft.MatMulNBits");
  // The scales are of order 1 rather than 0.03.
  test.ExpectSameResults(30 * kTolerance);
}

}  // namespace
}  // namespace attnrun::testing
