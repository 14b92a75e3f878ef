// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/graph_parts.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

// 1 / sqrt(8), so that products are as large as their inputs.
constexpr float kWeightScale = 0.35F;
// Sums of 8 products, an activation and a product of two of them.
constexpr double kTolerance = 64 * kEpsilon;

Value* X(GraphBuilder& b) { return b.Input("x", DataType::kFloat, {"batch", "seq", 8}); }

Value* Product(GraphBuilder& b, Value* x, int64_t columns, int seed) {
  std::mt19937 generator(seed);
  return b.Op("MatMul", {x, b.Constant("w", RandomFloats({8, columns}, generator, kWeightScale))});
}

Value* Silu(GraphBuilder& b, Value* x) { return b.Op("Mul", {x, b.Op("Sigmoid", {x})}); }

Value* Columns(GraphBuilder& b, Value* x, int64_t begin, int64_t end) {
  return Sliced(b, x, begin, end, -1);
}

TEST(GatedActivationTest, FusesTwoProjections) {
  for (const bool gate_first : {false, true}) {
    const OptimizerTester test([&](GraphBuilder& b) {
      Value* x = X(b);
      Value* gate = Silu(b, Product(b, x, 5, 1));
      Value* up = Product(b, x, 5, 2);
      b.Output(gate_first ? b.Op("Mul", {gate, up}) : b.Op("Mul", {up, gate}));
    });
    EXPECT_EQ(test.Ops(), "attnrun.GatedActivation attnrun.Linear");
    test.ExpectSameResults(kTolerance);
  }
}

TEST(GatedActivationTest, FusesOnePackedProjection) {
  for (const bool gate_first : {false, true}) {
    const OptimizerTester test([&](GraphBuilder& b) {
      Value* packed = Product(b, X(b), 12, 1);
      Value* first = Columns(b, packed, 0, 6);
      Value* second = Columns(b, packed, 6, 12);
      b.Output(gate_first ? b.Op("Mul", {b.Op("Gelu", {first}), second})
                          : b.Op("Mul", {first, b.Op("Gelu", {second})}));
    });
    EXPECT_EQ(test.Ops(), "attnrun.GatedActivation attnrun.Linear");
    test.ExpectSameResults(kTolerance);
  }
}

TEST(GatedActivationTest, FusesEveryActivation) {
  const auto activations = std::vector<std::function<Value*(GraphBuilder&, Value*)>>{
      [](GraphBuilder& b, Value* x) { return b.Op("Relu", {x}); },
      [](GraphBuilder& b, Value* x) { return b.Op("Sigmoid", {x}); },
      [](GraphBuilder& b, Value* x) { return b.Op("Tanh", {x}); },
      [](GraphBuilder& b, Value* x) {
        return b.Op("Gelu", {x}, {{"approximate", std::string("tanh")}});
      },
  };
  for (const auto& activation : activations) {
    const OptimizerTester test([&](GraphBuilder& b) {
      const auto parts = b.Ops("Split", 2, {Product(b, X(b), 6, 1)},
                               {{"axis", int64_t{2}}, {"num_outputs", int64_t{2}}});
      b.Output(b.Op("Mul", {activation(b, parts[0]), parts[1]}));
    });
    EXPECT_EQ(test.Ops(), "attnrun.GatedActivation attnrun.Linear");
    test.ExpectSameResults(kTolerance);
  }
}

TEST(GatedActivationTest, AGateThatOthersReadStays) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = X(b);
    Value* gate = Silu(b, Product(b, x, 5, 1));
    b.Output(b.Op("Mul", {gate, Product(b, x, 5, 2)})).Output(gate);
  });
  EXPECT_EQ(test.Count("attnrun.GatedActivation"), 0);
  test.ExpectSameResults(kTolerance);
}

TEST(GatedActivationTest, ColumnsOfOtherRowsAreNotAGate) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* packed = Product(b, b.Input("x", DataType::kFloat, {4, 8}), 4, 1);
    Value* turned = b.Op("Transpose", {packed}, {{"perm", std::vector<int64_t>{1, 0}}});
    b.Output(b.Op("Mul", {b.Op("Relu", {Columns(b, turned, 0, 2)}), Columns(b, packed, 2, 4)}));
  });
  EXPECT_EQ(test.Count("attnrun.GatedActivation"), 0);
  test.ExpectSameResults(kTolerance);
}

}  // namespace
}  // namespace attnrun::testing
