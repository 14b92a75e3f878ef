// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/graph_parts.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

// The length of x plus one, and the length of y. One dimension has a name that reads like a formula
// of the other.
OptimizerTester Lengths(const std::string& of_x, const std::string& of_y) {
  return OptimizerTester([&](GraphBuilder& b) {
    const auto length = [&](Value* of) {
      return b.Op("Gather",
                  {b.Op("Shape", {b.Op("Neg", {of})}), b.Constant<int64_t>("0", {1}, {0})});
    };
    Value* one = b.Constant<int64_t>("1", {1}, {1});
    b.Output(b.Op("Add", {length(b.Input("x", DataType::kFloat, {of_x.c_str(), 4})), one}));
    b.Output(length(b.Input("y", DataType::kFloat, {of_y.c_str(), 4})));
  });
}

TEST(ShapeFoldingTest, NamesOfDimensionsAreNotFormulas) {
  for (const auto& [x, y] : {std::pair("past", "past+1"), {"6", "7"}, {"?3", "?3+1"}}) {
    OptimizerTester test = Lengths(x, y);
    EXPECT_EQ(test.Count("Shape"), 2) << x;
    test.Dim(x, 5).Dim(y, 9).ExpectSameResults(0);
  }
}

// expand(4 * batch, -1) as TorchScript writes it: the extent of an inner value, behind a Where that
// always makes the same choice.
TEST(ShapeFoldingTest, MultiplesOfExtentsAreReadFromTheInputs) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 4, "seq"});
    Value* rows = b.Op(
        "Reshape", {b.Op("Exp", {x}),
                    b.Op("Concat", {Vector(b, {-1}), b.Op("Shape", {x}, {{"start", int64_t{2}}})},
                         {{"axis", int64_t{0}}})});
    Value* wanted =
        b.Op("Concat", {b.Op("Gather", {b.Op("Shape", {rows}), Vector(b, {0})}), Vector(b, {3})},
             {{"axis", int64_t{0}}});
    Value* asked =
        b.Op("Where", {b.Op("Equal", {wanted, Vector(b, {-1, -1})}), Vector(b, {1, 1}), wanted});
    b.Output(b.Op("Expand", {b.Input("y", DataType::kFloat, {1, 3}), asked}));
  });
  EXPECT_EQ(test.Ops(), "Concat Expand Mul Shape");
  test.Dim("batch", 2).ExpectSameResults(0);
}

// The number of windows: one exporter reads it from the convolution's output, the other computes it
// again.
TEST(ShapeFoldingTest, NumbersOfWindowsAreReadFromTheOutput) {
  const auto masks = [](bool asked) {
    return OptimizerTester([=](GraphBuilder& b) {
      Value* x = b.Input("x", DataType::kFloat, {"batch", 1, "samples"});
      Value* w = b.Constant("w", Make<float>({2, 1, 4}, {1, 0, 1, 0, 0, 1, 0, 1}));
      const AttributeMap strides = {{"strides", std::vector<int64_t>{4}}};
      Value* y = b.Op("Relu", {b.Op("Conv", {x, w}, strides)});
      Value* rows =
          asked ? b.Op("Gather", {b.Op("Shape", {y}), Vector(b, {2})})
                : b.Op("Div", {b.Op("Shape", {x}, {{"start", int64_t{2}}}), Vector(b, {4})});
      // Starts at 5 - rows.
      Value* start = b.Op("Sub", {Vector(b, {5}), rows});
      Value* table = b.Constant("table", Make<float>({6}, {0, 1, 2, 3, 4, 5}));
      b.Output(y).Output(b.Op("Slice", {table, start, Vector(b, {6})}));
    });
  };
  for (const bool asked : {true, false}) {
    OptimizerTester test = masks(asked);
    EXPECT_EQ(test.Ops(), "Add Conv Mul Relu Shape Slice") << asked;
    test.Dim("samples", 13).ExpectSameResults(8 * kEpsilon);
  }
}

// The input of a convolution must not depend on the extent of its output.
TEST(ShapeFoldingTest, NumbersOfWindowsAreNotReadIfTheOutputDependsOnThem) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 1, "samples"});
    Value* rows = b.Op("Div", {b.Op("Shape", {x}, {{"start", int64_t{2}}}), Vector(b, {4})});
    Value* factor = b.Op("Cast", {rows}, {{"to", static_cast<int64_t>(DataType::kFloat)}});
    Value* w = b.Constant("w", Make<float>({1, 1, 4}, {1, 0, 1, 0}));
    b.Output(b.Op("Conv", {b.Op("Mul", {x, factor}), w}, {{"strides", std::vector<int64_t>{4}}}));
  });
  EXPECT_EQ(test.Ops(), "Cast Conv Div Mul Shape");
  test.Dim("samples", 13).ExpectSameResults(8 * kEpsilon);
}

// min(seq, 6), as PyTorch slices a table of 6 positions; the run refuses longer inputs because of
// the positions.
TEST(ShapeFoldingTest, MinWithTheLengthOfAPositionTableIsDropped) {
  const auto cut = [](int64_t rows) {
    return OptimizerTester([=](GraphBuilder& b) {
      Value* x = b.Input("x", DataType::kFloat, {"seq", 1});
      Value* seq = b.Op("Squeeze", {b.Op("Shape", {x}, {{"end", int64_t{1}}})});
      Value* table = b.Constant("table", Make<float>({6, 1}, {0, 1, 2, 3, 4, 5}));
      Value* positions = b.Op("Range", {Scalar(b, 0), seq, Scalar(b, 1)});
      b.Output(b.Op("Add", {x, b.Op("Gather", {table, positions})}));
      b.Output(b.Op("Neg", {b.Op("Min", {seq, Scalar(b, rows)})}));
    });
  };
  EXPECT_EQ(cut(6).Count("Min"), 0);
  EXPECT_EQ(cut(7).Count("Min"), 0);
  EXPECT_EQ(cut(5).Count("Min"), 1);
  cut(6).Dim("seq", 6).ExpectSameResults(kEpsilon);
}

// All nodes that need the length of a slice read it from the slice, once.
TEST(ShapeFoldingTest, ExtentsOfSlicesAreReadFromTheSlices) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"total", 4});
    Value* past =
        b.Op("Shape", {b.Input("past", DataType::kFloat, {"past", 4})}, {{"end", int64_t{1}}});
    Value* y = b.Op("Slice", {x, past, Vector(b, {1 << 20}), Vector(b, {0})});
    for (const char* op : {"Neg", "Exp"}) {
      y = b.Op(op, {y});
      Value* rows = b.Op("Gather", {b.Op("Shape", {y}), Vector(b, {0})});
      b.Output(b.Op("Add", {rows, Vector(b, {std::string(op) == "Neg" ? 1 : 2})}));
    }
    b.Output(y);
  });
  EXPECT_EQ(test.Ops(), "Add*2 Exp Neg Shape*2 Slice");
  for (const int64_t past : {0, 2, 5})
    test.Dim("past", past).Dim("total", 4).ExpectSameResults(4 * kEpsilon);
}

// Reshapes to extents of another input through a Reshape in between. The one in between may be
// dropped, unless it may refuse its input or the outer one may copy its extents.
TEST(ShapeFoldingTest, AReshapeOfAReshapeMayHaveAnUnknownTarget) {
  const auto reshaped = [](int64_t allowzero, const char* like, const DimSpec& columns) {
    return OptimizerTester([=](GraphBuilder& b) {
      Value* x = b.Op("Exp", {b.Input("x", DataType::kFloat, {"rows", columns})});
      Value* y = b.Input("y", DataType::kFloat, {like, 4});
      x = b.Op("Reshape", {x, Vector(b, {-1, 3})});
      Value* length = b.Op("Shape", {y}, {{"end", int64_t{1}}});
      Value* target = b.Op("Concat", {length, Vector(b, {-1, 2})}, {{"axis", int64_t{0}}});
      b.Output(b.Op("Reshape", {x, target}, {{"allowzero", allowzero}}));
    });
  };
  for (const int64_t allowzero : {0, 1}) {
    EXPECT_EQ(reshaped(allowzero, "rows", 6).Count("Reshape"), 1);
    EXPECT_EQ(reshaped(allowzero, "rows", "columns").Count("Reshape"), 2);
    OptimizerTester test = reshaped(allowzero, "other", 6);
    EXPECT_EQ(test.Count("Reshape"), allowzero == 1 ? 1 : 2);
    test.Dim("rows", 4).Dim("other", 2).ExpectSameResults(4 * kEpsilon);
  }
}

// A reader of scores would keep them from becoming part of an attention.
TEST(ShapeFoldingTest, ExtentsAreReadFromOtherValuesThanScores) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* image = b.Input("image", DataType::kFloat, {1, 4, "h", "w"});
    Value* rows = Transposed(b, b.Op("Reshape", {image, Vector(b, {1, 4, -1})}), {0, 2, 1});
    Value* scores = b.Op("MatMul", {rows, Transposed(b, rows, {0, 2, 1})});
    Value* weight = b.Constant("w", *Tensor::Of<float>({4, 4}, std::vector<float>(16, 0.5F)));
    Value* projected = b.Op("MatMul", {rows, weight});
    b.Output(b.Op("Softmax", {scores})).Output(projected);
    Value* count = b.Op("Gather", {b.Op("Shape", {scores}), Vector(b, {2})});
    b.Output(b.Op("Expand", {b.Input("y", DataType::kFloat, {1}), count}));
  });
  for (const Node* node : test.graph().nodes()) {
    if (node->op_type() != "Shape") continue;
    const Node* source = node->input(0)->producer();
    ASSERT_NE(source, nullptr);
    // The projection, which is a Linear.
    EXPECT_NE(source->op_type(), "MatMul") << source->name();
  }
  test.Dim("h", 2).ExpectSameResults(8 * kEpsilon);
}

// tf2onnx leaves the number of keys open, which the scores are then the first to show beside K.
TEST(ShapeFoldingTest, ExtentsThatAReshapeMakesAreReadFromIt) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* q = b.Input("q", DataType::kFloat, {"batch", "seq", 4});
    Value* k = b.Input("k", DataType::kFloat, {"other", "keys", 4});
    Value* batch = b.Op("Shape", {q}, {{"start", int64_t{0}}, {"end", int64_t{1}}});
    Value* target = b.Op("Concat", {batch, Vector(b, {-1, 4})}, {{"axis", int64_t{0}}});
    Value* keys = b.Op("Reshape", {b.Op("Relu", {k}), target});
    Value* turned = b.Op("Transpose", {keys}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
    Value* scores = b.Op("MatMul", {q, turned});
    b.Output(b.Op("MatMul", {b.Op("Softmax", {scores}), keys}));
    Value* count = b.Op("Gather", {b.Op("Shape", {scores}), Vector(b, {2})});
    b.Output(b.Op("Expand", {b.Input("y", DataType::kFloat, {1}), count}));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  test.Dim("batch", 2).Dim("other", 1).Dim("keys", 6).ExpectSameResults(8 * kEpsilon);
}

// Found by the fuzzer of rules: a list that would have fewer elements than none tells no rank.
TEST(ShapeFoldingTest, ATargetMayHaveANegativeLength) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* target = b.Input("target", DataType::kInt64, {2});
    Value* cut = b.Op("Pad", {target, Vector(b, {-3, 0})});
    b.Output(b.Op("Reshape", {b.Input("x", DataType::kFloat, {"n"}), cut}));
  });
  EXPECT_EQ(test.Count("Reshape"), 1);
}

// Found by the fuzzer of rules: no run succeeds, but the graph is optimized before that is known.
TEST(ShapeFoldingTest, AConcatMayLackAnInput) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"n"});
    Value* length = b.Op("Shape", {x}, {{"start", int64_t{0}}, {"end", int64_t{1}}});
    b.Output(b.Op("Concat", {Vector(b, {1}), nullptr, length}, {{"axis", int64_t{0}}}));
  });
  EXPECT_EQ(test.Count("Concat"), 1);
}

}  // namespace
}  // namespace attnrun::testing
