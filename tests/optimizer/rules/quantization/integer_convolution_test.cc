// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/elements.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

// A convolution of x [n, 6, 9, 8] to 10 channels whose operands come from DequantizeLinear.
struct Convolution {
  bool per_channel = true;
  bool bias = true;
  bool quantized_again = false;
  int64_t group = 1;
  std::vector<int64_t> kernel = {3, 3};
  std::vector<int64_t> pads = {1, 1, 0, 2};
  int64_t weight_axis = 0;
};

Value* Weight(GraphBuilder& b, const Convolution& c) {
  std::mt19937 generator(3);
  const std::vector<int64_t> shape = {10, 6 / c.group, c.kernel[0], c.kernel[1]};
  Value* w = b.Constant("w", RandomInts(DataType::kInt8, shape, generator, -128, 127));
  std::vector<float> scales(c.per_channel ? 10 : 1);
  for (size_t i = 0; i < scales.size(); ++i) scales[i] = 0.01F * static_cast<float>(i + 1);
  const std::vector<int64_t> row(c.per_channel ? 1 : 0, 10);
  Value* scale = b.Constant("w_scale", Make<float>(row, scales));
  Value* zero = b.Constant("w_zero", Make<int8_t>(row, std::vector<int8_t>(scales.size(), 0)));
  return b.Op("DequantizeLinear", {w, scale, zero}, {{"axis", c.weight_axis}});
}

OptimizerTester Convolved(const Convolution& c) {
  return OptimizerTester([c](GraphBuilder& b) {
    Value* q = b.Input("q", DataType::kUint8, {"n", 6, 9, 8});
    Value* scale = b.Constant("x_scale", Make<float>({}, {0.05F}));
    Value* zero = b.Constant("x_zero", Make<uint8_t>({}, {131}));
    std::vector<Value*> inputs = {b.Op("DequantizeLinear", {q, scale, zero}), Weight(b, c)};
    if (c.bias) {
      std::mt19937 generator(4);
      inputs.push_back(b.Constant("bias", RandomFloats({10}, generator)));
    }
    Value* y = b.Op("Conv", inputs, {{"group", c.group}, {"pads", c.pads}});
    if (c.quantized_again) {
      y = b.Op("DequantizeLinear", {b.Op("QuantizeLinear", {y, scale, zero}), scale, zero});
    }
    b.Output(y);
  });
}

// 54 products of at most 255 * 128, scaled, are exact in one of the two ways and rounded one by one
// in the other.
constexpr double kTolerance = 54.0 * 54 * 255 * 128 * 0.05 * 0.1 * kEpsilon / 16;

TEST(IntegerConvolutionTest, SumsAreIntegersAndScaledAfterwards) {
  for (const bool per_channel : {false, true}) {
    for (const bool bias : {false, true}) {
      for (const std::vector<int64_t>& kernel : {std::vector<int64_t>{3, 3}, {1, 1}, {2, 1}}) {
        OptimizerTester test =
            Convolved({.per_channel = per_channel, .bias = bias, .kernel = kernel});
        EXPECT_EQ(test.Count("ConvInteger"), 1);
        EXPECT_EQ(test.Count("Conv"), 0);
        EXPECT_EQ(test.Count("DequantizeLinear"), 0);
        test.ExpectSameResults(kTolerance);
      }
    }
  }
}

TEST(IntegerConvolutionTest, GroupsAndScalesAlongOtherAxesStayFloats) {
  for (const Convolution& c :
       {Convolution{.group = 2},
        Convolution{.kernel = {3, 10}, .pads = {1, 1, 1, 1}, .weight_axis = 3}}) {
    OptimizerTester test = Convolved(c);
    EXPECT_EQ(test.Count("ConvInteger"), 0);
    EXPECT_EQ(test.Count("Conv"), 1);
    test.ExpectSameResults(kTolerance);
  }
}

TEST(IntegerConvolutionTest, NotOfOneQuantizedOperand) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"n", 6, 9, 8});
    b.Output(b.Op("Conv", {x, Weight(b, {})}));
  });
  EXPECT_EQ(test.Ops(), "Conv");
}

}  // namespace
}  // namespace attnrun::testing
