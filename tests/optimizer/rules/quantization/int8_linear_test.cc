// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/elements.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

// The number of Linears with weights of this format.
int64_t Linears(const OptimizerTester& test, const std::string& format) {
  return absl::c_count_if(test.graph().nodes(), [&](const Node* node) {
    const AttributeValue* found = node->attribute("format");
    return node->qualified_op_type() == "attnrun.Linear" &&
           (found == nullptr ? "" : std::get<std::string>(*found)) == format;
  });
}

Value* Weight(GraphBuilder& b, const std::string& name, int64_t rows, int64_t columns) {
  std::mt19937 generator(static_cast<uint32_t>(name.size() * columns));
  return b.Constant(name, RandomInts(DataType::kInt8, {rows, columns}, generator, -127, 127));
}

// The nodes that quantize_dynamic writes.
struct Quantized {
  explicit Quantized(GraphBuilder& b, Value* x) : values(b.Ops("DynamicQuantizeLinear", 3, {x})) {}
  Value* x() const { return values[0]; }
  Value* scale() const { return values[1]; }
  Value* zero_point() const { return values[2]; }

  std::vector<Value*> values;
};

// The order in which the factors are applied.
enum class Factors { kProduct, kProductSwapped, kOneByOne, kWeightOnly };

struct Product {
  std::string name = "w";
  int64_t columns = 8;
  bool per_column = false;
  bool bias = true;
  Factors factors = Factors::kProduct;
};

Value* Scaled(GraphBuilder& b, const Quantized& q, Value* floats, Value* w_scale, Factors factors) {
  switch (factors) {
    case Factors::kProduct:
      return b.Op("Mul", {floats, b.Op("Mul", {q.scale(), w_scale})});
    case Factors::kProductSwapped:
      return b.Op("Mul", {b.Op("Mul", {w_scale, q.scale()}), floats});
    case Factors::kOneByOne:
      return b.Op("Mul", {w_scale, b.Op("Mul", {floats, q.scale()})});
    case Factors::kWeightOnly:
      return b.Op("Mul", {floats, w_scale});
  }
  return nullptr;
}

Value* Multiply(GraphBuilder& b, const Quantized& q, const Product& p) {
  const std::vector<int64_t> shape(p.per_column ? 1 : 0, p.columns);
  const auto count = static_cast<size_t>(p.per_column ? p.columns : 1);
  Value* zero = b.Constant(p.name + "_zero", Make<int8_t>(shape, std::vector<int8_t>(count, 3)));
  Value* scale =
      b.Constant(p.name + "_scale", Make<float>(shape, std::vector<float>(count, 0.01F)));
  Value* sums =
      b.Op("MatMulInteger", {q.x(), Weight(b, p.name, 16, p.columns), q.zero_point(), zero});
  Value* floats = b.Op("Cast", {sums}, {{"to", int64_t{1}}});
  Value* y = Scaled(b, q, floats, scale, p.factors);
  if (!p.bias) return y;
  return b.Op("Add",
              {b.Constant(p.name + "_bias",
                          Make<float>({p.columns},
                                      std::vector<float>(static_cast<size_t>(p.columns), 0.5F))),
               y});
}

Value* X(GraphBuilder& b) { return b.Input("x", DataType::kFloat, {"batch", "seq", 16}); }

Value* X2(GraphBuilder& b) { return b.Input("x2", DataType::kFloat, {"rows", 5}); }

// K products of at most 255 * 130 * 0.04 * 0.01, each rounded a few times.
constexpr double kTolerance = 8 * 16 * 255 * 130 * 0.04 * 0.01 * kEpsilon;

TEST(Int8LinearFusionTest, FusesScalesInAnyOrderAndABias) {
  for (const Factors factors : {Factors::kProduct, Factors::kProductSwapped, Factors::kOneByOne}) {
    for (const bool per_column : {false, true}) {
      for (const bool bias : {false, true}) {
        OptimizerTester test([&](GraphBuilder& b) {
          const Quantized q(b, X(b));
          b.Output(Multiply(b, q, {"w", 8, per_column, bias, factors}));
        });
        EXPECT_EQ(test.Ops(), "DynamicQuantizeLinear attnrun.Linear");
        test.ExpectSameResults(kTolerance);
      }
    }
  }
}

TEST(Int8LinearFusionTest, AMissingScaleOfXIsOne) {
  OptimizerTester test([](GraphBuilder& b) {
    const Quantized q(b, X(b));
    b.Output(Multiply(b, q, {"w", 8, true, true, Factors::kWeightOnly}));
  });
  EXPECT_EQ(test.Ops(), "DynamicQuantizeLinear attnrun.Linear");
  test.ExpectSameResults(kTolerance / 0.04);
}

TEST(Int8LinearFusionTest, FusesActivationAndResidual) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = X(b);
    const Quantized q(b, x);
    Value* hidden = b.Op("Relu", {Multiply(b, q, {"up", 16})});
    const Quantized h(b, hidden);
    b.Output(b.Op("Add", {x, Multiply(b, h, {"down", 16})}));
  });
  EXPECT_EQ(test.Ops(), "DynamicQuantizeLinear*2 attnrun.Linear*2");
}

TEST(Int8LinearFusionTest, GateAndUpMergeWithAScalePerColumn) {
  OptimizerTester test([](GraphBuilder& b) {
    const Quantized q(b, X(b));
    Value* gate = Multiply(b, q, {"gate", 24, false, false});
    Value* up = Multiply(b, q, {"up", 24, true, true});
    b.Output(b.Op("Mul", {b.Op("Sigmoid", {gate}), up}));
  });
  EXPECT_EQ(Linears(test, "int8"), 1);
  EXPECT_EQ(test.Applied("sibling_projection"), 1);
  test.ExpectSameResults(kTolerance);
}

TEST(Int8LinearFusionTest, AReshapeBeforeTheProductMovesBehindIt) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* rows = b.Op("Reshape", {X(b), b.Constant("rows", Make<int64_t>({2}, {-1, 16}))});
    const Quantized q(b, rows);
    Value* y = Multiply(b, q, {});
    b.Output(b.Op("Reshape", {y, b.Constant("all", Make<int64_t>({1}, {-1}))}));
    Value* turned = b.Op("Transpose", {X2(b)}, {{"perm", std::vector<int64_t>{1, 0}}});
    for (Value* output : b.Ops("DynamicQuantizeLinear", 3, {turned})) b.Output(output);
  });
  EXPECT_EQ(test.Ops(), "DynamicQuantizeLinear*2 Reshape Transpose attnrun.Linear");
  test.ExpectSameResults(kTolerance);
}

TEST(Int8LinearFusionTest, LeavesIntegersThatOthersRead) {
  OptimizerTester test([](GraphBuilder& b) {
    const Quantized q(b, X(b));
    Value* sums = b.Op("MatMulInteger", {q.x(), Weight(b, "w", 16, 8), q.zero_point()});
    b.Output(sums);
    Value* scale = b.Constant("s", Make<float>({}, {0.01F}));
    b.Output(b.Op("Mul", {b.Op("Cast", {sums}, {{"to", int64_t{1}}}), scale}));
  });
  EXPECT_EQ(test.Count("MatMulInteger"), 1);
  EXPECT_EQ(Linears(test, "int8"), 0);
}

TEST(Int8LinearFusionTest, LeavesScalesPerRow) {
  OptimizerTester test([](GraphBuilder& b) {
    const Quantized q(b, X(b));
    Value* sums = b.Op("MatMulInteger", {q.x(), Weight(b, "w", 16, 8), q.zero_point()});
    Value* scale = b.Input("rows", DataType::kFloat, {"batch", "seq", 1});
    b.Output(b.Op("Mul", {b.Op("Cast", {sums}, {{"to", int64_t{1}}}), scale}));
  });
  EXPECT_EQ(test.Count("MatMulInteger"), 1);
}

// The nodes that quantize_static writes around a product; the defaults are the most common form.
struct StaticProduct {
  DataType x_type = DataType::kUint8;
  DataType w_type = DataType::kInt8;
  // The shape of the weight's scales; [] is one number.
  std::vector<int64_t> scales = {};
  int64_t axis = 1;
  // If true, stored as [N, K] and read by a Transpose or a Gemm.
  bool transposed = false;
  bool gemm = false;
  bool bias = true;
  // The shape to which x is reshaped before the product; empty if it is not.
  std::vector<int64_t> rows = {};
  std::string name = "w";
  int64_t columns = 8;
  std::vector<int64_t> zero_shape = scales;
};

Tensor ZeroPoints(DataType type, const std::vector<int64_t>& shape) {
  std::mt19937 generator(5);
  return RandomInts(type, shape, generator, 3, 100);
}

// DequantizeLinear(QuantizeLinear(x)).
Value* Rounded(GraphBuilder& b, Value* x, DataType type) {
  Value* scale = b.Constant("x_scale", Make<float>({}, {0.04F}));
  Value* zero = b.Constant("x_zero", ZeroPoints(type, {}));
  return b.Op("DequantizeLinear", {b.Op("QuantizeLinear", {x, scale, zero}), scale, zero});
}

Value* FloatWeight(GraphBuilder& b, const StaticProduct& p) {
  std::mt19937 generator(3);
  const std::vector<int64_t> shape = {p.transposed ? p.columns : 16, p.transposed ? 16 : p.columns};
  const int64_t low = p.w_type == DataType::kInt8 ? -127 : 0;
  Value* weight = b.Constant(p.name, RandomInts(p.w_type, shape, generator, low, low + 254));
  std::vector<float> scales(p.scales.empty() ? 1 : static_cast<size_t>(p.scales[0]));
  for (size_t i = 0; i < scales.size(); ++i) scales[i] = 0.002F + 0.0005F * static_cast<float>(i);
  Value* scale = b.Constant(p.name + "_scale", Make<float>(p.scales, scales));
  Value* zero = b.Constant(p.name + "_zero", ZeroPoints(p.w_type, p.zero_shape));
  return b.Op("DequantizeLinear", {weight, scale, zero}, {{"axis", p.axis}});
}

// An int32 bias, dequantized by the product of both scales.
Value* FloatBias(GraphBuilder& b, const StaticProduct& p) {
  std::mt19937 generator(4);
  Value* bias = b.Constant(p.name + "_bias",
                           RandomInts(DataType::kInt32, {p.columns}, generator, -2000, 2000));
  return b.Op("DequantizeLinear",
              {bias, b.Constant(p.name + "_bias_scale", Make<float>({}, {0.00008F}))});
}

Value* MultiplyRounded(GraphBuilder& b, Value* x, const StaticProduct& p) {
  if (!p.rows.empty()) {
    const auto rank = static_cast<int64_t>(p.rows.size());
    x = b.Op("Reshape", {x, b.Constant(p.name + "_rows", Make<int64_t>({rank}, p.rows))});
  }
  Value* weight = FloatWeight(b, p);
  if (p.gemm) {
    std::vector<Value*> inputs = {x, weight};
    if (p.bias) inputs.push_back(FloatBias(b, p));
    return b.Op("Gemm", inputs, {{"transB", int64_t{p.transposed ? 1 : 0}}});
  }
  if (p.transposed) {
    weight = b.Op("Transpose", {weight}, {{"perm", std::vector<int64_t>{1, 0}}});
  }
  Value* y = b.Op("MatMul", {x, weight});
  return p.bias ? b.Op("Add", {y, FloatBias(b, p)}) : y;
}

// 16 products of at most 255 * 0.04 * 255 * 0.006, each rounded a few times.
constexpr double kStaticTolerance = 8 * 16 * 255 * 0.04 * 255 * 0.006 * kEpsilon;

TEST(Int8LinearFusionTest, FusesProductsOfDequantizedIntegers) {
  const StaticProduct products[] = {
      {},
      {.bias = false},
      {.scales = {1}},
      {.scales = {8}},
      {.scales = {8}, .axis = -1},
      {.x_type = DataType::kInt8},
      {.w_type = DataType::kUint8},
      {.x_type = DataType::kInt8, .w_type = DataType::kUint8, .scales = {8}},
      {.scales = {8}, .axis = 0, .transposed = true},
      {.transposed = true},
      {.rows = {-1, 16}},
      {.gemm = true, .rows = {-1, 16}},
      {.gemm = true, .bias = false, .rows = {-1, 16}},
      {.scales = {8}, .axis = 0, .transposed = true, .gemm = true, .rows = {-1, 16}},
  };
  for (size_t i = 0; i < std::size(products); ++i) {
    SCOPED_TRACE(i);
    OptimizerTester test([&](GraphBuilder& b) {
      b.Output(MultiplyRounded(b, Rounded(b, X(b), products[i].x_type), products[i]));
    });
    EXPECT_EQ(test.Ops(), products[i].rows.empty() ? "QuantizeLinear attnrun.Linear"
                                                   : "QuantizeLinear Reshape attnrun.Linear");
    test.ExpectSameResults(kStaticTolerance);
  }
}

TEST(Int8LinearFusionTest, ProjectionsOfOneRoundedInputMerge) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = Rounded(b, X(b), DataType::kUint8);
    Value* gate = MultiplyRounded(b, x, {.name = "gate", .columns = 24});
    Value* up = MultiplyRounded(b, x, {.scales = {24}, .name = "up", .columns = 24});
    b.Output(b.Op("Mul", {b.Op("Sigmoid", {gate}), up}));
    b.Output(x);
  });
  EXPECT_EQ(Linears(test, "int8"), 1);
  EXPECT_EQ(test.Applied("sibling_projection"), 1);
  // The rounded x is read as floats, too.
  EXPECT_EQ(test.Count("DequantizeLinear"), 1);
}

// Q and K are rounded by scales of their own behind the product, so the roundings stay two.
TEST(Int8LinearFusionTest, ProjectionsThatAreRoundedBeforeTheScoresMerge) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = Rounded(b, X(b), DataType::kUint8);
    const auto rounded = [&](const std::string& name, float step, std::vector<int64_t> scales) {
      Value* y = MultiplyRounded(b, x, {.scales = std::move(scales), .name = name});
      Value* scale = b.Constant(name + "_step", Make<float>({}, {step}));
      Value* zero = b.Constant(name + "_middle", Make<uint8_t>({}, {128}));
      return b.Op("DequantizeLinear", {b.Op("QuantizeLinear", {y, scale, zero}), scale, zero});
    };
    Value* k =
        b.Op("Transpose", {rounded("k", 0.125F, {8})}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
    b.Output(b.Op("MatMul", {rounded("q", 0.25F, {}), k}));
  });
  EXPECT_EQ(Linears(test, "int8"), 1);
  EXPECT_EQ(test.Applied("qkv_projection"), 1);
  EXPECT_EQ(test.Count("QuantizeLinear"), 3);
  test.ExpectSameResults(kStaticTolerance);
}

TEST(Int8LinearFusionTest, TheMatrixOfAGemmBecomesTheResidual) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = Rounded(b, b.Input("x", DataType::kFloat, {"rows", 16}), DataType::kInt8);
    Value* c = b.Input("c", DataType::kFloat, {"rows", 8});
    b.Output(b.Op("Gemm", {x, FloatWeight(b, {}), c}));
  });
  EXPECT_EQ(test.Ops(), "QuantizeLinear attnrun.Linear");
  test.ExpectSameResults(kStaticTolerance);
}

// The scale may differ between runs, but not between rows.
TEST(Int8LinearFusionTest, TheScaleOfXMayBeComputed) {
  for (const bool number : {true, false}) {
    OptimizerTester test([&](GraphBuilder& b) {
      Value* scale = number ? b.Input("scale", DataType::kFloat, {})
                            : b.Input("scale", DataType::kFloat, {16});
      Value* q = b.Input("q", DataType::kInt8, {"rows", 16});
      Value* x = b.Op("DequantizeLinear", {q, scale}, {{"axis", int64_t{1}}});
      b.Output(MultiplyRounded(b, x, {}));
    });
    EXPECT_EQ(Linears(test, "int8"), number ? 1 : 0);
    EXPECT_EQ(Linears(test, ""), number ? 0 : 1);
    test.ExpectSameResults(kStaticTolerance);
  }
}

// They become a Linear, because the dequantized weight is folded to floats.
TEST(Int8LinearFusionTest, LeavesScalesThatVaryWithinASum) {
  const StaticProduct products[] = {
      {.scales = {16}, .axis = 0},  // scales per row of the weight, which are summed over
      {.scales = {16}, .axis = 1, .transposed = true},
      {.scales = {16}, .axis = 0, .columns = 16},
      {.scales = {16}, .axis = 1, .transposed = true, .gemm = true, .rows = {-1, 16}},
  };
  for (size_t i = 0; i < std::size(products); ++i) {
    SCOPED_TRACE(i);
    OptimizerTester test([&](GraphBuilder& b) {
      b.Output(MultiplyRounded(b, Rounded(b, X(b), DataType::kUint8), products[i]));
    });
    EXPECT_EQ(Linears(test, "int8"), 0);
    EXPECT_EQ(Linears(test, ""), 1);
    EXPECT_EQ(test.Count("DequantizeLinear"), 1);
    test.ExpectSameResults(kStaticTolerance);
  }
}

TEST(Int8LinearFusionTest, LeavesAWeightThatIsNotConstantOrNotQuantized) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = Rounded(b, X(b), DataType::kUint8);
    Value* scale = b.Constant("scale", Make<float>({}, {0.01F}));
    Value* given = b.Input("given", DataType::kInt8, {16, 8});
    b.Output(b.Op("MatMul", {x, b.Op("DequantizeLinear", {given, scale})}));
    std::mt19937 generator(2);
    b.Output(b.Op("MatMul", {x, b.Constant("floats", RandomFloats({16, 8}, generator))}));
  });
  EXPECT_EQ(Linears(test, "int8"), 0);
  test.ExpectSameResults(kStaticTolerance);
}

TEST(Int8LinearFusionTest, AWeightThatFloatsAlsoReadIsFolded) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = X(b);
    Value* weight = FloatWeight(b, {});
    b.Output(b.Op("MatMul", {Rounded(b, x, DataType::kUint8), weight}));
    b.Output(b.Op("MatMul", {x, weight}));
  });
  EXPECT_EQ(Linears(test, "int8"), 0);
  EXPECT_EQ(Linears(test, ""), 2);
  test.ExpectSameResults(kStaticTolerance);
}

// Longer sums would not fit 32 bits.
TEST(Int8LinearFusionTest, LeavesSumsThatAreTooLong) {
  for (const int64_t rows : {33025, 33026}) {
    OptimizerTester test([&](GraphBuilder& b) {
      Value* q = b.Input("q", DataType::kUint8, {1, rows});
      Value* scale = b.Constant("scale", Make<float>({}, {0.01F}));
      Value* weight = b.Constant("w", Make<uint8_t>({rows, 1}, std::vector<uint8_t>(rows, 255)));
      b.Output(b.Op("MatMul", {b.Op("DequantizeLinear", {q, scale}),
                               b.Op("DequantizeLinear", {weight, scale})}));
    });
    EXPECT_EQ(Linears(test, "int8"), rows == 33025 ? 1 : 0);
    test.Feed("q", Make<uint8_t>({1, rows}, std::vector<uint8_t>(rows, 255)));
    test.ExpectSameResults(4 * static_cast<double>(rows) * 255 * 255 * 1e-4 * kEpsilon);
  }
}

}  // namespace
}  // namespace attnrun::testing
