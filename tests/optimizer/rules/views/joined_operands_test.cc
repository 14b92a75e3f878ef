// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "support/any_type.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

using Extents = std::vector<int64_t>;

struct HeadsBuilder {
  GraphBuilder& b;

  Value* Numbers(const Extents& numbers) { return b.Constant("n", Ints(numbers)); }
  // [batch, 4, seq, columns] reshaped to [batch * 4, seq, columns].
  Value* Joined(const char* name, DimSpec columns) {
    Value* x = b.Op("Exp", {b.Input(name, DataType::kFloat, {"batch", 4, "seq", columns})});
    Value* seq = b.Op("Shape", {x}, {{"start", int64_t{2}}});
    return b.Op("Reshape", {x, b.Op("Concat", {Numbers({-1}), seq}, {{"axis", int64_t{0}}})});
  }
  // The inverse of Joined().
  Value* Split(Value* y, int64_t heads = 4) {
    Value* rest = b.Op("Shape", {y}, {{"start", int64_t{1}}});
    return b.Op("Reshape",
                {y, b.Op("Concat", {Numbers({-1, heads}), rest}, {{"axis", int64_t{0}}})});
  }
};

OptimizerTester Gated(const std::function<Value*(HeadsBuilder&)>& build) {
  return OptimizerTester([&](GraphBuilder& b) {
    HeadsBuilder heads{b};
    b.Output(b.Op("Relu", {build(heads)}));
  });
}

TEST(JoinedOperandsTest, HeadsFoldedIntoTheBatchAreUnfolded) {
  OptimizerTester test = Gated([](HeadsBuilder& h) {
    Value* gate = h.Joined("gate", 1);
    return h.Split(h.b.Op("Mul", {gate, h.Joined("bias", "seq")}));
  });
  EXPECT_EQ(test.Ops(), "Exp*2 Mul Relu");
  for (const int64_t batch : {0, 1, 3}) test.Dim("batch", batch).ExpectSameResults(8 * kEpsilon);
}

// The bias is the same for all samples, as in WavLM.
TEST(JoinedOperandsTest, ARepeatedOperandOnlyBroadcasts) {
  OptimizerTester test = Gated([](HeadsBuilder& h) {
    GraphBuilder& b = h.b;
    Value* gate = h.Joined("gate", 1);
    Value* bias = b.Input("bias", DataType::kFloat, {1, 4, "seq", "seq"});
    Value* batch = b.Op("Shape", {b.Input("samples", DataType::kFloat, {"batch"})});
    Value* times = b.Op("Concat", {batch, h.Numbers({1, 1, 1})}, {{"axis", int64_t{0}}});
    Value* seq = b.Op("Shape", {bias}, {{"start", int64_t{2}}});
    Value* tiled =
        b.Op("Reshape", {b.Op("Tile", {bias, times}),
                         b.Op("Concat", {h.Numbers({-1}), seq}, {{"axis", int64_t{0}}})});
    return h.Split(b.Op("Mul", {gate, tiled}));
  });
  EXPECT_EQ(test.Ops(), "Exp Mul Relu");
  test.ExpectSameResults(8 * kEpsilon);
}

// Operands that do not vary along the joined axes stay unchanged.
TEST(JoinedOperandsTest, OperandsMayHaveFewerAxes) {
  for (const bool row : {false, true}) {
    OptimizerTester test = Gated([row](HeadsBuilder& h) {
      Value* x = h.Joined("x", "seq");
      Value* y = row ? h.b.Input("y", DataType::kFloat, {1, 1, "seq"})
                     : h.b.Input("y", DataType::kFloat, {"seq", 1});
      return h.Split(h.b.Op("Sub", {y, x}));
    });
    EXPECT_EQ(test.Ops(), "Exp Relu Sub") << row;
    test.ExpectSameResults(8 * kEpsilon);
  }
}

TEST(JoinedOperandsTest, OtherJoinsStay) {
  const std::vector<std::function<Value*(HeadsBuilder&)>> builds = {
      // Split into other axes.
      [](HeadsBuilder& h) {
        return h.Split(h.b.Op("Mul", {h.Joined("x", 1), h.Joined("y", "seq")}), 2);
      },
      // One operand was not reshaped.
      [](HeadsBuilder& h) {
        Value* y = h.b.Input("y", DataType::kFloat, {"rows", "seq", "seq"});
        return h.Split(h.b.Op("Mul", {h.Joined("x", "seq"), y}));
      },
      // The result has another reader.
      [](HeadsBuilder& h) {
        Value* product = h.b.Op("Mul", {h.Joined("x", 1), h.Joined("y", "seq")});
        h.b.Output(h.b.Op("Neg", {product}));
        return h.Split(product);
      }};
  for (size_t i = 0; i < builds.size(); ++i) {
    OptimizerTester test = Gated(builds[i]);
    EXPECT_EQ(test.Applied("joined_operands"), 0) << i;
    test.Dim("rows", 12).ExpectSameResults(8 * kEpsilon);
  }
}

}  // namespace
}  // namespace attnrun::testing
