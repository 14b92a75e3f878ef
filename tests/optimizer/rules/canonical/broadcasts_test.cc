// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/graph_parts.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

constexpr double kTolerance = 4 * kEpsilon;

TEST(BroadcastsTest, DropsAnExpandToTheOtherOperand) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "seq"});
    Value* y = b.Input("y", DataType::kFloat, {"batch", 1});
    b.Output(b.Op("Relu", {b.Op("Sub", {x, b.Op("Expand", {y, b.Op("Shape", {x})})})}));
  });
  EXPECT_EQ(test.Ops(), "Relu Sub");
  for (const int64_t seq : {1, 3}) test.Dim("seq", seq).ExpectSameResults(kTolerance);
}

TEST(BroadcastsTest, DropsAddedLeadingAxesOfOne) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "seq", 4});
    Value* y = b.Input("y", DataType::kFloat, {"seq", 4});
    Value* axes = b.Constant<int64_t>("axes", {1}, {0});
    b.Output(b.Op("Add", {x, b.Op("Unsqueeze", {y, axes})}));
  });
  EXPECT_EQ(test.Ops(), "Add");
  test.ExpectSameResults(kTolerance);
}

// A residual with a single sample whose axis was removed, as in graphs simplified for one sample.
TEST(BroadcastsTest, DropsTheRemovalOfLeadingAxesOfOne) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {1, 5, 4});
    Value* y = b.Input("y", DataType::kFloat, {1, 5, 4});
    Value* rows = b.Op("Reshape", {b.Op("Relu", {y}), b.Constant<int64_t>("rows", {2}, {5, 4})});
    b.Output(b.Op("Add", {rows, x}));
  });
  EXPECT_EQ(test.Ops(), "Add Relu");
  test.ExpectSameResults(kTolerance);
}

TEST(BroadcastsTest, LeavesLeadingAxesThatWouldWidenTheResult) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {5, 4});
    Value* y = b.Input("y", DataType::kFloat, {1, 5, 4});
    Value* rows = b.Op("Reshape", {b.Op("Relu", {y}), b.Constant<int64_t>("rows", {2}, {5, 4})});
    b.Output(b.Op("Add", {rows, x}));
  });
  EXPECT_EQ(test.Count("Reshape"), 1);
  test.ExpectSameResults(kTolerance);
}

// Scales of heads that are still equal, as before training. Those of channels belong to a
// normalization and stay.
TEST(BroadcastsTest, EqualFactorsOfRowsBecomeTheirNumber) {
  const auto scaled = [](const Shape& shape, std::vector<float> scales) {
    return OptimizerTester([&](GraphBuilder& b) {
      Value* x = b.Input("x", DataType::kFloat, {"batch", 2, "seq", 3});
      b.Output(
          b.Op("Mul", {b.Op("Relu", {x}), b.Constant("s", *Tensor::Of<float>(shape, scales))}));
    });
  };
  const auto rank = [](const OptimizerTester& test) {
    for (const Node* node : test.graph().nodes()) {
      if (node->op_type() == "Mul") return node->input(1)->constant()->rank();
    }
    return -1;
  };
  EXPECT_EQ(rank(scaled({2, 1, 1}, {4, 4})), 0);
  EXPECT_EQ(rank(scaled({2, 1, 1}, {4, 5})), 3);
  EXPECT_EQ(rank(scaled({3}, {4, 4, 4})), 1);
  // It gives the result an axis.
  EXPECT_EQ(rank(scaled({2, 1, 1, 1, 1}, {4, 4})), 5);
  scaled({2, 1, 1}, {4, 4}).ExpectSameResults(0);
}

TEST(BroadcastsTest, AFilledTensorBecomesItsNumber) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "seq"});
    Tensor three = *Tensor::Of<float>({1}, {3});
    Value* threes = b.Op("ConstantOfShape", {b.Op("Shape", {x})}, {{"value", three}});
    b.Output(b.Op("Min", {x, threes}));
  });
  EXPECT_EQ(test.Ops(), "Min");
  test.ExpectSameResults(0);
}

// No double holds this number.
TEST(BroadcastsTest, AFilledTensorOfLargeIntegersStaysExact) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kInt64, {"batch", "seq"});
    Tensor large = *Tensor::Of<int64_t>({1}, {(int64_t{1} << 53) + 1});
    Value* filled = b.Op("ConstantOfShape", {b.Op("Shape", {x})}, {{"value", large}});
    b.Output(b.Op("Mul", {b.Op("Add", {x, x}), filled}));
  });
  test.ExpectSameResults(0);
}

TEST(BroadcastsTest, LeavesAnExpandThatWidensTheResult) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 1});
    Value* y = b.Input("y", DataType::kFloat, {"batch", 1});
    Value* like = b.Input("like", DataType::kFloat, {"batch", "seq"});
    b.Output(b.Op("Add", {x, b.Op("Expand", {y, b.Op("Shape", {like})})}));
  });
  EXPECT_EQ(test.Count("Expand"), 1);
  test.ExpectSameResults(kTolerance);
}

// Before the run it is unknown which of the two extents is 1.
TEST(BroadcastsTest, LeavesAnExpandIfExtentsMayDiffer) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "other"});
    Value* y = b.Input("y", DataType::kFloat, {"batch", 1});
    Value* like = b.Input("like", DataType::kFloat, {"batch", "seq"});
    b.Output(b.Op("Add", {x, b.Op("Expand", {y, b.Op("Shape", {like})})}));
  });
  EXPECT_EQ(test.Count("Expand"), 1);
  test.Dim("other", 1).Dim("seq", 5).ExpectSameResults(kTolerance);
}

TEST(BroadcastsTest, LeavesAxesAddedInTheMiddle) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {4, 4});
    Value* y = b.Input("y", DataType::kFloat, {4});
    Value* axes = b.Constant<int64_t>("axes", {1}, {1});
    b.Output(b.Op("Add", {x, b.Op("Unsqueeze", {y, axes})}));
  });
  EXPECT_EQ(test.Count("Unsqueeze") + test.Count("Reshape"), 1);
  test.ExpectSameResults(kTolerance);
}

// A mask that masks nothing, with more samples than its condition.
TEST(BroadcastsTest, AChoiceThatIsAlwaysZeroIsDropped) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "seq"});
    Value* seq = b.Op("Squeeze", {b.Op("Shape", {x}, {{"start", int64_t{1}}})});
    Value* positions = b.Op("Range", {Scalar(b, 0), seq, Scalar(b, 1)});
    Value* open = b.Op("GreaterOrEqual", {positions, Scalar(b, 0)});
    Value* mask = b.Op(
        "Where", {b.Op("Expand", {open, b.Op("Shape", {x})}), b.Constant<float>("open", {}, {0}),
                  b.Constant<float>("closed", {}, {-100})});
    b.Output(b.Op("Neg", {b.Op("Add", {x, mask})}));
  });
  EXPECT_EQ(test.Ops(), "Neg");
  test.ExpectSameResults(0);
}

// A mask that leaves all keys unmasked, added as a number.
TEST(BroadcastsTest, AConditionThatAlwaysHoldsBecomesOne) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 3});
    Value* open = b.Constant("open", MakeBool({1, 3}, {1, 1, 1}));
    Value* mask = b.Op("Cast", {b.Op("Expand", {open, b.Op("Shape", {x})})},
                       {{"to", static_cast<int64_t>(DataType::kFloat)}});
    b.Output(b.Op("Neg", {b.Op("Mul", {x, mask})}));
  });
  EXPECT_EQ(test.Ops(), "Neg");
  test.ExpectSameResults(0);
}

TEST(BroadcastsTest, AnExpandedNumberFillsATensor) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kInt64, {"batch"});
    Value* number = b.Constant<int64_t>("number", {1}, {int64_t{1} << 60 | 1});
    b.Output(b.Op("Neg", {b.Op("Expand", {number, b.Op("Shape", {x})})}));
  });
  EXPECT_EQ(test.Ops(), "ConstantOfShape Shape");
  test.ExpectSameResults(0);
}

TEST(BroadcastsTest, ANumberOfMoreAxesThanTheShapeIsExpanded) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch"});
    Value* number = b.Constant<float>("number", {1, 1}, {3});
    b.Output(b.Op("Neg", {b.Op("Expand", {number, b.Op("Shape", {x})})}));
  });
  EXPECT_EQ(test.Count("Expand"), 1);
  test.ExpectSameResults(0);
}

// A mask that masks nothing, on top of a bias per head.
TEST(BroadcastsTest, ComputationsOnExpandedConstantsAreFolded) {
  for (const char* op : {"Add", "Where"}) {
    OptimizerTester test([&](GraphBuilder& b) {
      Value* x = b.Input("x", DataType::kFloat, {"batch", 2, 3});
      Value* open = b.Constant<bool>("open", {1, 1, 3}, {true, true, false});
      Value* shape = b.Op(
          "Concat",
          {b.Op("Shape", {x}, {{"end", int64_t{1}}}), b.Constant<int64_t>("rest", {2}, {1, 3})},
          {{"axis", int64_t{0}}});
      Value* mask = b.Op("Expand", {open, shape});
      Value* bias = b.Constant<float>("bias", {1, 2, 1}, {0.5F, -2});
      Value* other = b.Constant<float>("other", {}, {3});
      b.Output(*op == 'A' ? b.Op("Add", {bias, b.Op("Cast", {mask}, {{"to", int64_t{1}}})})
                          : b.Op("Where", {mask, bias, other}));
    });
    EXPECT_EQ(test.Ops(), "Concat Expand Shape");
    test.ExpectSameResults(0);
    test.Dim("batch", 1).ExpectSameResults(0);
    test.Dim("batch", 0).ExpectSameResults(0);
  }
}

// TensorFlow's -1e9 * tf.ones_like(x), and one whose ones have no value of their own.
TEST(BroadcastsTest, ComputationsOnFilledTensorsAreFolded) {
  for (const bool ones : {false, true}) {
    OptimizerTester test([=](GraphBuilder& b) {
      Value* x = b.Input("x", DataType::kFloat, {"batch", 2, 3});
      Value* mask = b.Input("mask", DataType::kBool, {"batch", 1, 3});
      AttributeMap attributes;
      if (ones) attributes = {{"value", Make<float>({1}, {1})}};
      Value* like = b.Op("ConstantOfShape", {b.Op("Shape", {x})}, attributes);
      b.Output(b.Op("Where", {mask, x, b.Op(ones ? "Mul" : "Add", {like, Number(b, -1e9F)})}));
    });
    EXPECT_EQ(test.Ops(), "Where");
    test.ExpectSameResults(0);
    test.Dim("batch", 0).ExpectSameResults(0);
  }
}

TEST(BroadcastsTest, TiledAxesOfExtentOneAreExpanded) {
  const auto tiled = [](int64_t extent) {
    return OptimizerTester([=](GraphBuilder& b) {
      Value* x = b.Input("x", DataType::kFloat, {"batch", extent, 4});
      Value* repeats = b.Constant<int64_t>("repeats", {3}, {1, 2, 1});
      b.Output(b.Op("Neg", {b.Op("Tile", {x, repeats})}));
    });
  };
  EXPECT_EQ(tiled(1).Ops(), "Expand Neg");
  tiled(1).ExpectSameResults(0);
  EXPECT_EQ(tiled(2).Ops(), "Neg Tile");
}

}  // namespace
}  // namespace attnrun::testing
