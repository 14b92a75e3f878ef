// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "support/any_type.h"
#include "support/graph_parts.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

using Extents = std::vector<int64_t>;

// Sums of at most 12 products.
constexpr double kTolerance = 16 * kEpsilon;

Value* Weight(GraphBuilder& b, const std::vector<int64_t>& shape) {
  std::mt19937 generator(7);
  return b.Constant("w", RandomFloats(shape, generator));
}

TEST(SinkViewsTest, AViewMovesAfterTheProduct) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "seq", 8});
    x = b.Op("Transpose", {x}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
    b.Output(b.Op("MatMul", {x, Weight(b, {8, 4})}));
  });
  const Node* last = test.graph().outputs()[0]->producer();
  EXPECT_EQ(last->op_type(), "Transpose");
  test.ExpectSameResults(kTolerance);
}

TEST(SinkViewsTest, AnAxisOfOneThatTheProductWidensStays) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 1, 1});
    x = b.Op("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
    x = b.Op("MatMul", {x, Weight(b, {1, 11})});
    x = b.Op("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
    x = b.Op("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
    b.Output(b.Op("MatMul", {x, Weight(b, {11, 3})}));
  });
  test.ExpectSameResults(kTolerance);
}

TEST(SinkViewsTest, AnInputThatIsLeftOutStaysSo) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "seq", 8});
    x = b.Op("Reshape", {x, b.Constant<int64_t>("rows", {2}, {-1, 8})});
    b.Output(b.Op("Clip", {x, nullptr, b.Constant<float>("max", {}, {0.5F})}));
  });
  EXPECT_EQ(test.graph().outputs()[0]->producer()->op_type(), "Reshape");
  test.ExpectSameResults(0);
}

TEST(SinkViewsTest, AConvolutionOfOneElementIsCorrect) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 1, 1});
    x = b.Op("Conv", {x, Weight(b, {11, 1, 1})});
    x = b.Op("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
    b.Output(b.Op("MatMul", {x, Weight(b, {11, 1})}));
  });
  test.ExpectSameResults(kTolerance);
}

// OPT flattens the rows before its feed-forward layers. A sum of rows with other views or other
// readers stays.
OptimizerTester Flattened(int64_t columns, bool read_elsewhere) {
  return OptimizerTester([=](GraphBuilder& b) {
    Value* x = b.Op("Exp", {b.Input("x", DataType::kFloat, {"batch", "seq", 8})});
    Value* y = b.Op("Exp", {b.Input("y", DataType::kFloat, {"batch", "seq", columns})});
    x = b.Op("Reshape", {x, Vector(b, {-1, 8})});
    if (read_elsewhere) b.Output(b.Op("ReduceSum", {x, Vector(b, {0})}));
    b.Output(b.Op("Reshape", {b.Op("Add", {x, b.Op("Reshape", {y, Vector(b, {-1, 8})})}),
                              Vector(b, {-1, 4, 2})}));
  });
}

TEST(SinkViewsTest, AViewMovesAfterASumOfEqualViews) {
  OptimizerTester test = Flattened(8, /*read_elsewhere=*/false);
  EXPECT_EQ(test.Count("Reshape"), 1);
  for (const int64_t seq : {0, 1, 5}) test.Dim("seq", seq).ExpectSameResults(kTolerance);
}

TEST(SinkViewsTest, ASumOfOtherViewsStays) {
  EXPECT_EQ(Flattened(4, /*read_elsewhere=*/false).Count("Reshape"), 3);
}

TEST(SinkViewsTest, OtherReadersKeepTheView) {
  OptimizerTester test = Flattened(8, /*read_elsewhere=*/true);
  EXPECT_EQ(test.Count("Reshape"), 2);
  test.ExpectSameResults(kTolerance);
}

// fairseq's attention leaves its heads folded into the batch and continues with positions first.
OptimizerTester FoldedHeads(const std::vector<int64_t>& order) {
  return OptimizerTester([=](GraphBuilder& b) {
    const auto reshape = [&](Value* x, const std::vector<int64_t>& to) {
      return b.Op("Reshape", {x, b.Constant("n", Ints(to))});
    };
    Value* x = b.Op("Exp", {b.Input("x", DataType::kFloat, {"batch", 5, 8})});
    x = Transposed(b, reshape(x, {-1, 5, 4, 2}), {0, 2, 1, 3});
    x = reshape(Transposed(b, reshape(x, {-1, 5, 2}), order), {-1, 8});
    x = b.Op("MatMul", {x, Weight(b, {8, 4})});
    b.Output(Transposed(b, reshape(x, {5, -1, 4}), {1, 0, 2}));
  });
}

TEST(SinkViewsTest, HeadsFoldedIntoTheBatchAreUnfolded) {
  OptimizerTester test = FoldedHeads({1, 0, 2});
  EXPECT_EQ(test.Ops(), "Exp attnrun.Linear");
  for (const int64_t batch : {1, 3}) test.Dim("batch", batch).ExpectSameResults(kTolerance);
}

TEST(SinkViewsTest, RowsThatWereMixedStayBeforeTheProduct) {
  OptimizerTester test = FoldedHeads({0, 1, 2});
  EXPECT_GT(test.Count("Transpose"), 0);
  for (const int64_t batch : {1, 3}) test.Dim("batch", batch).ExpectSameResults(kTolerance);
}

struct HeadsBuilder {
  GraphBuilder& b;

  Value* Numbers(const Extents& numbers) { return b.Constant("n", Ints(numbers)); }
  // [batch, 4, seq, columns] reshaped to [batch * 4, seq, columns].
  Value* Joined(const char* name, const DimSpec& columns) {
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

TEST(SinkViewsTest, OperandsFoldedIntoTheBatchAreUnfolded) {
  OptimizerTester test = Gated([](HeadsBuilder& h) {
    Value* gate = h.Joined("gate", 1);
    return h.Split(h.b.Op("Mul", {gate, h.Joined("bias", "seq")}));
  });
  EXPECT_EQ(test.Ops(), "Exp*2 Mul Relu");
  for (const int64_t batch : {0, 1, 3}) test.Dim("batch", batch).ExpectSameResults(8 * kEpsilon);
}

// The bias is the same for all samples, as in WavLM.
TEST(SinkViewsTest, ARepeatedOperandOnlyBroadcasts) {
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
TEST(SinkViewsTest, OperandsMayHaveFewerAxes) {
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

TEST(SinkViewsTest, TheRearrangedValueMayBeOfANodeWithoutInputs) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* random = b.Op("RandomNormal", {}, {{"shape", std::vector<int64_t>{4, 6}}});
    Value* turned = b.Op("Transpose", {random}, {{"perm", std::vector<int64_t>{1, 0}}});
    b.Output(b.Op("Relu", {turned}));
  });
  EXPECT_EQ(test.Count("RandomNormal"), 1);
}

TEST(SinkViewsTest, OnlyEqualJoinsMove) {
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
  const bool moves[] = {true, false, true};
  for (size_t i = 0; i < builds.size(); ++i) {
    OptimizerTester test = Gated(builds[i]);
    EXPECT_EQ(test.Applied("move_views") > 0, moves[i]) << i;
    test.Dim("rows", 12).ExpectSameResults(8 * kEpsilon);
  }
}

// An extent that is read off may be 0, which beside a -1 would copy another axis.
TEST(SinkViewsTest, ABatchThatIsEmptyKeepsItsExtents) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 3, "seq", 8});
    Value* batch = b.Op("Shape", {x}, {{"end", int64_t{1}}});
    Value* shape =
        b.Op("Concat", {Vector(b, {1}), batch, Vector(b, {-1, 8})}, {{"axis", int64_t{0}}});
    Value* wide = b.Op("Unsqueeze", {x, Vector(b, {0})});
    b.Output(b.Op("Softmax", {b.Op("Reshape", {wide, shape})}, {{"axis", int64_t{-1}}}));
  });
  EXPECT_EQ(test.Count("Softmax"), 1);
  test.ExpectSameResults(4 * kEpsilon);
  test.Dim("batch", 0).ExpectSameResults(0);
}

}  // namespace
}  // namespace attnrun::testing
