#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/elements.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

Value* Weight(GraphBuilder& b, const std::string& name, int64_t rows, int64_t columns) {
  std::mt19937 generator(static_cast<uint32_t>(name.size() * columns));
  return b.Constant(name, RandomInts(DataType::kInt8, {rows, columns}, generator, -127, 127));
}

// What quantize_dynamic writes.
struct Quantized {
  explicit Quantized(GraphBuilder& b, Value* x) : values(b.Ops("DynamicQuantizeLinear", 3, {x})) {}
  Value* x() const { return values[0]; }
  Value* scale() const { return values[1]; }
  Value* zero_point() const { return values[2]; }

  std::vector<Value*> values;
};

// How the factors are applied.
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

// K products of at most 255 * 130 * 0.04 * 0.01, each rounded some times.
constexpr double kTolerance = 8 * 16 * 255 * 130 * 0.04 * 0.01 * kEpsilon;

TEST(QuantizedLinearFusionTest, ScalesInAnyPlaceAndBias) {
  for (const Factors factors : {Factors::kProduct, Factors::kProductSwapped, Factors::kOneByOne}) {
    for (const bool per_column : {false, true}) {
      for (const bool bias : {false, true}) {
        OptimizerTester test([&](GraphBuilder& b) {
          const Quantized q(b, X(b));
          b.Output(Multiply(b, q, {"w", 8, per_column, bias, factors}));
        });
        EXPECT_EQ(test.Ops(), "DynamicQuantizeLinear attnrun.QuantizedLinear");
        test.ExpectSameResults(kTolerance);
      }
    }
  }
}

TEST(QuantizedLinearFusionTest, WithoutAScaleOfXItIsOne) {
  OptimizerTester test([](GraphBuilder& b) {
    const Quantized q(b, X(b));
    b.Output(Multiply(b, q, {"w", 8, true, true, Factors::kWeightOnly}));
  });
  EXPECT_EQ(test.Ops(), "DynamicQuantizeLinear attnrun.QuantizedLinear");
  test.ExpectSameResults(kTolerance / 0.04);
}

TEST(QuantizedLinearFusionTest, ActivationAndResidualBecomePartOfIt) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = X(b);
    const Quantized q(b, x);
    Value* hidden = b.Op("Relu", {Multiply(b, q, {"up", 16})});
    const Quantized h(b, hidden);
    b.Output(b.Op("Add", {x, Multiply(b, h, {"down", 16})}));
  });
  EXPECT_EQ(test.Ops(), "DynamicQuantizeLinear*2 attnrun.QuantizedLinear*2");
}

TEST(QuantizedLinearFusionTest, GateAndUpMergeWithAScalePerColumn) {
  OptimizerTester test([](GraphBuilder& b) {
    const Quantized q(b, X(b));
    Value* gate = Multiply(b, q, {"gate", 24, false, false});
    Value* up = Multiply(b, q, {"up", 24, true, true});
    b.Output(b.Op("Mul", {b.Op("Sigmoid", {gate}), up}));
  });
  EXPECT_EQ(test.Count("attnrun.QuantizedLinear"), 1);
  EXPECT_EQ(test.Applied("sibling_projection"), 1);
  test.ExpectSameResults(kTolerance);
}

TEST(QuantizedLinearFusionTest, RowsOfABatchArePutTogetherBehindTheProduct) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* rows = b.Op("Reshape", {X(b), b.Constant("rows", Make<int64_t>({2}, {-1, 16}))});
    const Quantized q(b, rows);
    Value* y = Multiply(b, q, {});
    b.Output(b.Op("Reshape", {y, b.Constant("all", Make<int64_t>({1}, {-1}))}));
    Value* turned = b.Op("Transpose", {X2(b)}, {{"perm", std::vector<int64_t>{1, 0}}});
    for (Value* output : b.Ops("DynamicQuantizeLinear", 3, {turned})) b.Output(output);
  });
  EXPECT_EQ(test.Ops(), "DynamicQuantizeLinear*2 Reshape Transpose attnrun.QuantizedLinear");
  test.ExpectSameResults(kTolerance);
}

TEST(QuantizedLinearFusionTest, LeavesIntegersThatOthersRead) {
  OptimizerTester test([](GraphBuilder& b) {
    const Quantized q(b, X(b));
    Value* sums = b.Op("MatMulInteger", {q.x(), Weight(b, "w", 16, 8), q.zero_point()});
    b.Output(sums);
    Value* scale = b.Constant("s", Make<float>({}, {0.01F}));
    b.Output(b.Op("Mul", {b.Op("Cast", {sums}, {{"to", int64_t{1}}}), scale}));
  });
  EXPECT_EQ(test.Count("MatMulInteger"), 1);
  EXPECT_EQ(test.Count("attnrun.QuantizedLinear"), 0);
}

TEST(QuantizedLinearFusionTest, LeavesScalesPerRow) {
  OptimizerTester test([](GraphBuilder& b) {
    const Quantized q(b, X(b));
    Value* sums = b.Op("MatMulInteger", {q.x(), Weight(b, "w", 16, 8), q.zero_point()});
    Value* scale = b.Input("rows", DataType::kFloat, {"batch", "seq", 1});
    b.Output(b.Op("Mul", {b.Op("Cast", {sums}, {{"to", int64_t{1}}}), scale}));
  });
  EXPECT_EQ(test.Count("MatMulInteger"), 1);
}

}  // namespace
}  // namespace attnrun::testing
