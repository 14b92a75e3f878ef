// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cfloat>
#include <string>
#include <vector>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

// The scales and zero points of the first and the second quantization.
struct Again {
  float scale = 0.04F;
  float second_scale = scale;
  uint8_t second_zero = 120;
  bool reshape = true;
};

Value* Quantize(GraphBuilder& b, Value* x, Value* scale, uint8_t zero, const std::string& name) {
  return b.Op("QuantizeLinear", {x, scale, b.Constant(name, Make<uint8_t>({}, {zero}))});
}

OptimizerTester Requantized(const Again& again) {
  return OptimizerTester([&](GraphBuilder& b) {
    Value* q = b.Input("q", DataType::kUint8, {"rows", 256});
    Value* scale = b.Constant("scale", Make<float>({}, {again.scale}));
    Value* zero = b.Constant("zero", Make<uint8_t>({}, {120}));
    Value* x = b.Op("DequantizeLinear", {q, scale, zero});
    if (again.reshape) {
      x = b.Op("Reshape", {x, b.Constant("to", Make<int64_t>({3}, {-1, 16, 16}))});
      x = b.Op("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
    }
    Value* second = b.Constant("second", Make<float>({1}, {again.second_scale}));
    b.Output(Quantize(b, x, second, again.second_zero, "second_zero"));
  });
}

// All 256 bytes.
Tensor Bytes() {
  std::vector<uint8_t> bytes(256);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
  return Make<uint8_t>({1, 256}, bytes);
}

TEST(RequantizationTest, EqualRequantizationIsDropped) {
  for (const float scale : {0.04F, 1.0F / 3, FLT_MIN, FLT_MAX / 256}) {
    OptimizerTester test = Requantized({.scale = scale});
    EXPECT_EQ(test.Ops(), "Reshape Transpose");
    test.Dim("rows", 1).Feed("q", Bytes()).ExpectSameResults(0);
  }
  OptimizerTester direct = Requantized({.reshape = false});
  EXPECT_EQ(direct.Count("QuantizeLinear"), 0);
  direct.Dim("rows", 1).Feed("q", Bytes()).ExpectSameResults(0);
}

TEST(RequantizationTest, LeavesOtherScalesZeroPointsAndExtremeScales) {
  for (const Again& again : {Again{.second_scale = 0.05F}, Again{.second_zero = 119},
                             Again{.scale = FLT_MIN / 8}, Again{.scale = FLT_MAX / 16}}) {
    OptimizerTester test = Requantized(again);
    EXPECT_EQ(test.Count("QuantizeLinear"), 1);
    EXPECT_EQ(test.Applied("requantization"), 0);
    test.Dim("rows", 1).Feed("q", Bytes()).ExpectSameResults(0);
  }
}

TEST(RequantizationTest, LeavesComputationsInBetween) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* scale = b.Constant("scale", Make<float>({}, {0.04F}));
    Value* x = b.Op("DequantizeLinear", {b.Input("q", DataType::kUint8, {5}), scale});
    b.Output(Quantize(b, b.Op("Relu", {x}), scale, 0, "zero"));
  });
  EXPECT_EQ(test.Count("QuantizeLinear"), 1);
}

}  // namespace
}  // namespace attnrun::testing
