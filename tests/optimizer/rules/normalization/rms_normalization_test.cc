// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/graph_parts.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kLength = 8;
constexpr double kTolerance = (kLength + 8) * kEpsilon;

Value* Weight(GraphBuilder& b, DataType type = DataType::kFloat) {
  const Tensor weight = Make<float>({kLength}, {0.5, 1, 1.5, 2, -0.5, -1, -1.5, -2});
  return b.Constant("weight", Converted(weight, type));
}

Value* CastTo(GraphBuilder& b, Value* x, DataType type) {
  return b.Op("Cast", {x}, {{"to", static_cast<int64_t>(type)}});
}

// x / sqrt(mean(x^2) + epsilon), as the newer and as the older exporter write it.
Value* Normalized(GraphBuilder& b, Value* x, bool reciprocal) {
  Value* square = reciprocal ? b.Op("Pow", {x, Number(b, 2)}) : b.Op("Mul", {x, x});
  Value* mean = b.Op("ReduceMean", {square, b.Constant<int64_t>("axes", {1}, {-1})});
  Value* root = b.Op("Sqrt", {b.Op("Add", {mean, Number(b, 1e-6F)})});
  Value* inverse = reciprocal ? b.Op("Reciprocal", {root}) : b.Op("Div", {Number(b, 1), root});
  return b.Op("Mul", {x, inverse});
}

TEST(RmsNormalizationFusionTest, FusesEverySpelling) {
  for (const bool reciprocal : {false, true}) {
    for (const bool scale : {false, true}) {
      OptimizerTester test([&](GraphBuilder& b) {
        Value* y = Normalized(b, b.Input("x", DataType::kFloat, {"batch", 2, kLength}), reciprocal);
        b.Output(scale ? b.Op("Mul", {Weight(b), y}) : y);
      });
      EXPECT_EQ(test.Ops(), "RMSNormalization");
      test.ExpectSameResults(kTolerance);
    }
  }
}

// An exporter drops small terms, such as an epsilon of 1e-8.
// Keras multiplies the scale into the inverse of the root.
TEST(RmsNormalizationFusionTest, FusesAScaleOfTheInverse) {
  const auto scaled = [](bool by_row) {
    return OptimizerTester([=](GraphBuilder& b) {
      Value* x = b.Input("x", DataType::kFloat, {"batch", kLength, kLength});
      Value* mean = b.Op("ReduceMean",
                         {b.Op("Pow", {x, Number(b, 2)}), b.Constant<int64_t>("axes", {1}, {-1})});
      Value* inverse = b.Op("Reciprocal", {b.Op("Sqrt", {b.Op("Add", {mean, Number(b, 1e-6F)})})});
      Value* column = b.Constant<float>("column", {kLength, 1}, {1, 2, 3, 4, 5, 6, 7, 8});
      Value* m = b.Op("Mul", {inverse, by_row ? Weight(b) : column});
      b.Output(b.Op("Mul", {x, m}));
    });
  };
  EXPECT_EQ(scaled(true).Ops(), "RMSNormalization");
  // A factor for each row is no scale.
  EXPECT_EQ(scaled(false).Count("RMSNormalization"), 0);
  for (const bool by_row : {false, true}) scaled(by_row).ExpectSameResults(kTolerance);
}

TEST(RmsNormalizationFusionTest, FusesWithoutAnEpsilon) {
  const auto normalized = [](bool centered) {
    return OptimizerTester([=](GraphBuilder& b) {
      const auto mean = [&](Value* y) {
        return b.Op("ReduceMean", {y, b.Constant<int64_t>("axes", {1}, {-1})});
      };
      Value* x = b.Input("x", DataType::kFloat, {"batch", kLength});
      if (centered) x = b.Op("Sub", {x, mean(x)});
      Value* root = b.Op("Sqrt", {mean(b.Op("Pow", {x, Number(b, 2)}))});
      b.Output(b.Op("Mul", {Weight(b), b.Op("Mul", {x, b.Op("Reciprocal", {root})})}));
    });
  };
  EXPECT_EQ(normalized(false).Ops(), "RMSNormalization");
  normalized(false).ExpectSameResults(kTolerance);
  EXPECT_EQ(normalized(true).Ops(), "LayerNormalization");
  normalized(true).ExpectSameResults(kTolerance);
}

TEST(RmsNormalizationFusionTest, FusesAScaleOfOnePlusWeight) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* y = Normalized(b, b.Input("x", DataType::kFloat, {"batch", kLength}), true);
    b.Output(b.Op("Mul", {y, b.Op("Add", {Weight(b), Number(b, 1)})}));
  });
  EXPECT_EQ(test.Ops(), "RMSNormalization");
  test.ExpectSameResults(kTolerance);
}

TEST(RmsNormalizationFusionTest, FusesAHalfPrecisionWeightAfterTheCast) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat16, {"batch", kLength});
    Value* y = Normalized(b, CastTo(b, x, DataType::kFloat), true);
    b.Output(b.Op("Mul", {Weight(b, DataType::kFloat16), CastTo(b, y, DataType::kFloat16)}));
  });
  EXPECT_EQ(test.Ops(), "RMSNormalization");
  test.ExpectSameResults(2 * Epsilon(DataType::kFloat16));
}

TEST(RmsNormalizationFusionTest, FloatWeightBeforeTheCastKeepsTheCast) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat16, {"batch", kLength});
    Value* y = b.Op("Mul", {Normalized(b, CastTo(b, x, DataType::kFloat), true), Weight(b)});
    b.Output(CastTo(b, y, DataType::kFloat16));
  });
  EXPECT_EQ(test.Ops(), "Cast RMSNormalization");
  test.ExpectSameResults(2 * Epsilon(DataType::kFloat16));
}

TEST(RmsNormalizationFusionTest, FusesHalfPrecisionWithoutWeight) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat16, {"batch", kLength});
    Value* y = Normalized(b, CastTo(b, x, DataType::kFloat), true);
    b.Output(CastTo(b, y, DataType::kFloat16));
  });
  EXPECT_EQ(test.Ops(), "RMSNormalization");
  test.ExpectSameResults(2 * Epsilon(DataType::kFloat16));
}

TEST(RmsNormalizationFusionTest, AMeanThatOthersReadStays) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", kLength});
    Value* mean = b.Op("ReduceMean", {b.Op("Mul", {x, x}), b.Constant<int64_t>("axes", {1}, {-1})});
    b.Output(b.Op("Div", {x, b.Op("Sqrt", {b.Op("Add", {mean, Number(b, 1e-6F)})})}));
    b.Output(b.Op("Log", {mean}));
  });
  EXPECT_EQ(test.Count("RMSNormalization"), 0);
  EXPECT_THAT(test.Misses("rms_normalization"), ElementsAre(HasSubstr("(Log)")));
  test.ExpectSameResults(kTolerance);
}

TEST(RmsNormalizationFusionTest, LeavesTheQuotientOfAnotherValue) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", kLength});
    Value* other = b.Input("other", DataType::kFloat, {"batch", kLength});
    Value* mean = b.Op("ReduceMean", {b.Op("Mul", {x, x}), b.Constant<int64_t>("axes", {1}, {-1})});
    b.Output(b.Op("Div", {other, b.Op("Sqrt", {b.Op("Add", {mean, Number(b, 1e-6F)})})}));
  });
  EXPECT_EQ(test.Count("RMSNormalization"), 0);
}

TEST(RmsNormalizationFusionTest, LeavesADroppedReducedAxis) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {kLength, kLength});
    Value* mean = b.Op("ReduceMean", {b.Op("Mul", {x, x}), b.Constant<int64_t>("axes", {1}, {-1})},
                       {{"keepdims", int64_t{0}}});
    b.Output(b.Op("Div", {x, b.Op("Sqrt", {b.Op("Add", {mean, Number(b, 1e-6F)})})}));
  });
  EXPECT_EQ(test.Count("RMSNormalization"), 0);
  test.ExpectSameResults(kTolerance);
}

TEST(RmsNormalizationFusionTest, RowsWithoutElementsStay) {
  const OptimizerTester test(
      [](GraphBuilder& b) { b.Output(Normalized(b, b.Input("x", DataType::kFloat, {0}), true)); });
  EXPECT_EQ(test.Count("RMSNormalization"), 0);
  test.ExpectSameResults(kTolerance);
}

TEST(RmsNormalizationFusionTest, NormsOfOneValueAreFusedSeparately) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* rows = Normalized(b, b.Input("x", DataType::kFloat, {"batch", kLength}), false);
    Value* other = b.Constant("other", Make<float>({kLength}, {3, 1, 0.5, 2, -0.5, -1, 4, -2}));
    b.Output(b.Op("Mul", {rows, Weight(b)}));
    b.Output(b.Op("Mul", {other, rows}));
  });
  EXPECT_EQ(test.Ops(), "RMSNormalization*2");
  test.ExpectSameResults(kTolerance);
}

TEST(RmsNormalizationFusionTest, UnscaledRowsWithReadersAreNormalizedOnce) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* rows = Normalized(b, b.Input("x", DataType::kFloat, {"batch", kLength}), false);
    b.Output(b.Op("Mul", {rows, Weight(b)}));
    b.Output(rows);
  });
  EXPECT_EQ(test.Ops(), "Mul RMSNormalization");
  test.ExpectSameResults(kTolerance);
}

}  // namespace
}  // namespace attnrun::testing
