// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kLength = 8;
// Sums of kLength terms, the root and its inverse, scale and bias: a few roundings each.
constexpr double kTolerance = (kLength + 8) * kEpsilon;

Value* Number(GraphBuilder& b, float number, DataType type = DataType::kFloat) {
  return b.Constant("number", Converted(Make<float>({}, {number}), type));
}

Value* Parameter(GraphBuilder& b, float first, DataType type = DataType::kFloat) {
  std::vector<float> elements;
  elements.reserve(kLength);
  for (int i = 0; i < kLength; ++i) elements.push_back(first + 0.25F * static_cast<float>(i));
  return b.Constant("parameter", Converted(Make<float>({kLength}, elements), type));
}

Value* Mean(GraphBuilder& b, Value* x) {
  return b.Op("ReduceMean", {x, b.Constant<int64_t>("axes", {1}, {-1})});
}

struct Spelling {
  // Spells the square as Pow if true, else as Mul.
  bool pow = true;
  // Spells the division: "Div", "Reciprocal", "OneOver" or "Pow".
  std::string inverse = "Div";
  bool swapped = false;
  bool scale = true;
  bool bias = true;
};

Value* Divided(GraphBuilder& b, Value* x, Value* radicand, const Spelling& s) {
  if (s.inverse == "Pow") return b.Op("Mul", {x, b.Op("Pow", {radicand, Number(b, -0.5)})});
  Value* root = b.Op("Sqrt", {radicand});
  if (s.inverse == "Div") return b.Op("Div", {x, root});
  Value* inverse =
      s.inverse == "OneOver" ? b.Op("Div", {Number(b, 1), root}) : b.Op("Reciprocal", {root});
  return s.swapped ? b.Op("Mul", {inverse, x}) : b.Op("Mul", {x, inverse});
}

Value* Commuted(GraphBuilder& b, const std::string& op, Value* x, Value* y, bool swapped) {
  return swapped ? b.Op(op, {y, x}) : b.Op(op, {x, y});
}

Value* Normalized(GraphBuilder& b, Value* x, const Spelling& s) {
  Value* d = b.Op("Sub", {x, Mean(b, x)});
  Value* square = s.pow ? b.Op("Pow", {d, Number(b, 2)}) : b.Op("Mul", {d, d});
  Value* y = Divided(b, d, Commuted(b, "Add", Mean(b, square), Number(b, 1e-5F), s.swapped), s);
  if (s.scale) y = Commuted(b, "Mul", y, Parameter(b, 0.5), s.swapped);
  if (s.bias) y = Commuted(b, "Add", y, Parameter(b, -1), s.swapped);
  return y;
}

void ExpectOneNode(const OptimizerTester::Build& build) {
  OptimizerTester test(build);
  EXPECT_EQ(test.Ops(), "LayerNormalization");
  test.ExpectSameResults(kTolerance);
}

TEST(LayerNormalizationFusionTest, FusesEverySpelling) {
  for (const char* inverse : {"Div", "Reciprocal", "OneOver", "Pow"}) {
    for (int bits = 0; bits < 16; ++bits) {
      SCOPED_TRACE(inverse);
      SCOPED_TRACE(bits);
      const Spelling spelling = {(bits & 1) != 0, inverse, (bits & 2) != 0, (bits & 4) != 0,
                                 (bits & 8) != 0};
      ExpectOneNode([&](GraphBuilder& b) {
        b.Output(Normalized(b, b.Input("x", DataType::kFloat, {"batch", 3, kLength}), spelling));
      });
    }
  }
}

TEST(LayerNormalizationFusionTest, AcceptsAxesAsAttributeAndFromTheFront) {
  OptimizerTester test(
      [](GraphBuilder& b) {
        Value* x = b.Input("x", DataType::kFloat, {"batch", "seq", kLength});
        const AttributeMap axes = {{"axes", std::vector<int64_t>{2}}};
        Value* d = b.Op("Sub", {x, b.Op("ReduceMean", {x}, axes)});
        Value* variance = b.Op("ReduceMean", {b.Op("Mul", {d, d})}, axes);
        b.Output(b.Op("Div", {d, b.Op("Sqrt", {b.Op("Add", {variance, Number(b, 1e-6F)})})}));
      },
      {}, 13);
  EXPECT_EQ(test.Ops(), "LayerNormalization");
  test.ExpectSameResults(kTolerance);
}

// m = scale / sqrt(variance + epsilon), y = x m + (bias - mean m); Keras adds bias to -mean m.
Value* TensorFlow(GraphBuilder& b, Value* x, bool scale, bool bias, bool keras = false) {
  Value* mean = Mean(b, x);
  Value* d = b.Op("Sub", {x, mean});
  Value* variance = Mean(b, b.Op("Mul", {d, d}));
  Value* m = b.Op("Reciprocal", {b.Op("Sqrt", {b.Op("Add", {variance, Number(b, 1e-3F)})})});
  if (scale) m = b.Op("Mul", {m, Parameter(b, 0.5)});
  Value* shift = b.Op("Mul", {keras ? b.Op("Neg", {mean}) : mean, m});
  if (keras) shift = b.Op("Add", {shift, Parameter(b, -1)});
  if (keras) return b.Op("Add", {b.Op("Mul", {x, m}), shift});
  shift = bias ? b.Op("Sub", {Parameter(b, -1), shift}) : b.Op("Neg", {shift});
  return b.Op("Add", {b.Op("Mul", {x, m}), shift});
}

TEST(LayerNormalizationFusionTest, FusesTensorFlowsSpelling) {
  for (const bool scale : {false, true}) {
    for (const bool bias : {false, true}) {
      ExpectOneNode([&](GraphBuilder& b) {
        b.Output(TensorFlow(b, b.Input("x", DataType::kFloat, {"batch", kLength}), scale, bias));
      });
    }
    ExpectOneNode([&](GraphBuilder& b) {
      b.Output(
          TensorFlow(b, b.Input("x", DataType::kFloat, {"batch", kLength}), scale, true, true));
    });
  }
}

TEST(LayerNormalizationFusionTest, FusesHalfPrecisionRowsCastToFloat) {
  OptimizerTester test([](GraphBuilder& b) {
    const AttributeMap to_float = {{"to", static_cast<int64_t>(DataType::kFloat)}};
    const AttributeMap to_half = {{"to", static_cast<int64_t>(DataType::kFloat16)}};
    Value* half = b.Input("x", DataType::kFloat16, {"batch", kLength});
    Value* y = Normalized(b, b.Op("Cast", {half}, to_float), {.scale = false, .bias = false});
    y = b.Op("Mul", {b.Op("Cast", {y}, to_half), Parameter(b, 0.5, DataType::kFloat16)});
    b.Output(b.Op("Add", {y, Parameter(b, -1, DataType::kFloat16)}));
  });
  EXPECT_EQ(test.Ops(), "LayerNormalization");
  // The graph rounds to half three times, the fused operator once.
  test.ExpectSameResults(4 * Epsilon(DataType::kFloat16));
}

// In half precision at opset 14 the older exporter casts the difference to a wider type.
TEST(LayerNormalizationFusionTest, FusesHalfPrecisionDifferencesCastToWiderTypes) {
  for (const DataType wide : {DataType::kFloat, DataType::kDouble}) {
    SCOPED_TRACE(Name(wide));
    OptimizerTester test([&](GraphBuilder& b) {
      Value* half = b.Input("x", DataType::kFloat16, {"batch", kLength});
      Value* difference = b.Op("Sub", {half, Mean(b, half)});
      Value* d = b.Op("Cast", {difference}, {{"to", static_cast<int64_t>(wide)}});
      Value* variance = Mean(b, b.Op("Pow", {d, Number(b, 2, wide)}));
      Value* root = b.Op("Sqrt", {b.Op("Add", {variance, Number(b, 1e-5F, wide)})});
      Value* y = b.Op("Cast", {b.Op("Div", {d, root})},
                      {{"to", static_cast<int64_t>(DataType::kFloat16)}});
      y = b.Op("Mul", {y, Parameter(b, 0.5, DataType::kFloat16)});
      b.Output(b.Op("Add", {y, Parameter(b, -1, DataType::kFloat16)}));
    });
    EXPECT_EQ(test.Ops(), "LayerNormalization");
    // The graph rounds mean, difference, quotient, product and sum to half; the fused operator
    // rounds once.
    test.ExpectSameResults(8 * Epsilon(DataType::kFloat16));
  }
}

TEST(LayerNormalizationFusionTest, FusesABiasAddedToANormWithoutOne) {
  const auto with_bias = [](std::initializer_list<int64_t> shape, int64_t axis) {
    return OptimizerTester([&](GraphBuilder& b) {
      Value* x = b.Input("x", DataType::kFloat, {"batch", 4, 4});
      Value* scale = b.Constant<float>("scale", {4}, {1, 2, 3, 4});
      Value* bias = b.Constant<float>("bias", shape, {1, -1, 2, 0.5F});
      Value* y = b.Op("LayerNormalization", {x, scale}, {{"axis", axis}});
      b.Output(b.Op("Add", {bias, y}));
    });
  };
  const OptimizerTester row = with_bias({4}, -1);
  EXPECT_EQ(row.Ops(), "LayerNormalization");
  row.ExpectSameResults(64 * kEpsilon);
  // A number per position is not a number per channel, and a norm of matrices is not one of rows.
  for (const OptimizerTester& other : {with_bias({4, 1}, -1), with_bias({4}, 1)}) {
    EXPECT_EQ(other.Ops(), "Add LayerNormalization");
    other.ExpectSameResults(64 * kEpsilon);
  }
}

TEST(LayerNormalizationFusionTest, LeavesAnotherAxis) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", kLength, kLength});
    const auto mean = [&](Value* v) {
      return b.Op("ReduceMean", {v, b.Constant<int64_t>("axes", {1}, {1})});
    };
    Value* d = b.Op("Sub", {x, mean(x)});
    Value* variance = mean(b.Op("Mul", {d, d}));
    b.Output(b.Op("Div", {d, b.Op("Sqrt", {b.Op("Add", {variance, Number(b, 1e-5F)})})}));
  });
  EXPECT_EQ(test.Count("LayerNormalization"), 0);
  test.ExpectSameResults(kTolerance);
}

TEST(LayerNormalizationFusionTest, AnotherReaderOfTheDifferenceKeepsIt) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", kLength});
    Value* d = b.Op("Sub", {x, Mean(b, x)});
    Value* variance = Mean(b, b.Op("Mul", {d, d}));
    b.Output(b.Op("Div", {d, b.Op("Sqrt", {b.Op("Add", {variance, Number(b, 1e-5F)})})}));
    b.Output(b.Op("Relu", {d}));
  });
  EXPECT_EQ(test.Ops(), "RMSNormalization ReduceMean Relu Sub");
  EXPECT_THAT(test.Misses("layer_normalization"),
              ElementsAre(AllOf(HasSubstr("'Sub' has another consumer"), HasSubstr("Relu"))));
  test.ExpectSameResults(kTolerance);
}

TEST(LayerNormalizationFusionTest, AVarianceThatIsAnOutputStays) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", kLength});
    Value* d = b.Op("Sub", {x, Mean(b, x)});
    Value* variance = Mean(b, b.Op("Mul", {d, d}));
    b.Output(b.Op("Div", {d, b.Op("Sqrt", {b.Op("Add", {variance, Number(b, 1e-5F)})})}));
    b.Output(variance);
  });
  EXPECT_EQ(test.Count("LayerNormalization"), 0);
  EXPECT_THAT(test.Misses("layer_normalization"), ElementsAre(HasSubstr("is a graph output")));
  test.ExpectSameResults(kTolerance);
}

TEST(LayerNormalizationFusionTest, RowsOfUnknownLengthNeedAScale) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "channels"});
    b.Output(Normalized(b, x, {.scale = false, .bias = false}));
  });
  EXPECT_EQ(test.Count("LayerNormalization"), 0);
  EXPECT_THAT(test.Misses("layer_normalization"), ElementsAre(HasSubstr("length of the rows")));
  test.Dim("channels", kLength).ExpectSameResults(kTolerance);
}

TEST(LayerNormalizationFusionTest, AProductThatIsNotAScaleOfRowsStays) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {kLength, kLength});
    Value* y = Normalized(b, x, {.scale = false, .bias = false});
    // One number per row.
    Tensor column = Make<float>({kLength, 1}, {1, 2, 3, 4, 5, 6, 7, 8});
    b.Output(b.Op("Mul", {y, b.Constant("column", column)}));
  });
  EXPECT_EQ(test.Ops(), "LayerNormalization Mul");
  EXPECT_THAT(test.Misses("layer_normalization"), IsEmpty());
  test.ExpectSameResults(8 * kTolerance);
}

// Attention and feed-forward network side by side, as in GPT-NeoX and Falcon: two norms of one
// value.
TEST(LayerNormalizationFusionTest, NormsOfOneValueAreFusedSeparately) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* rows = Normalized(b, b.Input("x", DataType::kFloat, {"batch", 3, kLength}),
                             {.scale = false, .bias = false});
    for (const float first : {0.5F, -2.0F}) {
      b.Output(b.Op("Add", {b.Op("Mul", {rows, Parameter(b, first)}), Parameter(b, -first)}));
    }
  });
  EXPECT_EQ(test.Ops(), "LayerNormalization*2");
  test.ExpectSameResults(kTolerance);
}

// An exporter drops an epsilon of 1e-12. Rows of equal elements give 0/0 before and after.
TEST(LayerNormalizationFusionTest, FusesWithoutAnEpsilon) {
  for (const bool bias : {false, true}) {
    OptimizerTester test([=](GraphBuilder& b) {
      Value* x = b.Input("x", DataType::kFloat, {"batch", kLength});
      Value* d = b.Op("Sub", {x, Mean(b, x)});
      Value* y = b.Op("Div", {d, b.Op("Sqrt", {Mean(b, b.Op("Pow", {d, Number(b, 2)}))})});
      y = b.Op("Mul", {y, Parameter(b, 0.5)});
      b.Output(bias ? b.Op("Add", {y, Parameter(b, -1)}) : y);
    });
    EXPECT_EQ(test.Ops(), "LayerNormalization");
    test.ExpectSameResults(kTolerance);
    std::vector<float> elements(2 * kLength, 1.0F / 3);
    elements[3] = 2;
    test.Dim("batch", 2).Feed("x", Make<float>({2, kLength}, elements));
    test.ExpectSameResults(kTolerance);
  }
}

OptimizerTester CenteredRms(const std::vector<int64_t>& scale, bool centered_is_read = false) {
  return OptimizerTester(
      [=](GraphBuilder& b) {
        Value* x = b.Input("x", DataType::kFloat, {"batch", 2, kLength});
        Value* d = b.Op("Sub", {x, Mean(b, x)});
        std::vector<float> elements;
        const int count = static_cast<int>(kLength) * (scale.size() == 2 ? 2 : 1);
        for (int i = 0; i < count; ++i) elements.push_back(0.5F + 0.25F * static_cast<float>(i));
        Value* parameter = b.Constant("scale", Make<float>(scale, elements));
        b.Output(b.Op("RMSNormalization", {d, parameter}, {{"axis", int64_t{-1}}}));
        if (centered_is_read) b.Output(d);
      },
      {}, 23);
}

TEST(LayerNormalizationTest, FusesARootMeanSquareOfCenteredRows) {
  EXPECT_EQ(CenteredRms({kLength}).Ops(), "LayerNormalization");
  CenteredRms({kLength}).ExpectSameResults(kTolerance);
  // One row of scale per head.
  EXPECT_EQ(CenteredRms({2, kLength}).Ops(), "LayerNormalization Mul");
  CenteredRms({2, kLength}).ExpectSameResults(kTolerance);
  EXPECT_EQ(CenteredRms({kLength}, true).Count("RMSNormalization"), 1);
}

}  // namespace
}  // namespace attnrun::testing
