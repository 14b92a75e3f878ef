// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

OptimizerTester Power(float exponent, const std::vector<int64_t>& shape) {
  return OptimizerTester([=](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 8});
    const std::vector<float> exponents(shape == std::vector<int64_t>{8} ? 8 : 1, exponent);
    Value* power = b.Constant("power", Make<float>(shape, exponents));
    b.Output(b.Op("Pow", {b.Op("Relu", {x}), power}));
  });
}

TEST(SquaresTest, BecomeProducts) {
  EXPECT_EQ(Power(2, {}).Ops(), "Mul Relu");
  EXPECT_EQ(Power(2, {1, 1}).Ops(), "Mul Relu");
  // Pow rounds its result once, and at most once inside.
  Power(2, {}).ExpectSameResults(2 * kEpsilon);
}

TEST(SquaresTest, OtherPowersAndShapesStay) {
  EXPECT_EQ(Power(3, {}).Ops(), "Pow Relu");
  EXPECT_EQ(Power(2, {8}).Ops(), "Pow Relu");
  EXPECT_EQ(Power(2, {1, 1, 1}).Ops(), "Pow Relu");
}

}  // namespace
}  // namespace attnrun::testing
