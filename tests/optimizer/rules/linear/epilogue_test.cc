// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::IsEmpty;

constexpr double kEpsilon = 1.1920929e-7;
// Sums of 8 products, an activation and a sum.
constexpr double kTolerance = 16 * kEpsilon;

Value* Weight(GraphBuilder& b) {
  return b.Constant<float>("w", {8, 4}, {1, -2, 3, 0,  1, 1, -1, 2, 0,  1, 2, -3, 1, 0, 1,  1,
                                         2, 1,  0, -1, 1, 2, 1,  0, -1, 1, 1, 2,  0, 1, -2, 1});
}
Value* Bias(GraphBuilder& b) { return b.Constant<float>("bias", {4}, {1, -1, 2, 0}); }
Value* X(GraphBuilder& b) { return b.Input("x", DataType::kFloat, {"batch", "seq", 8}); }

TEST(EpilogueTest, BiasActivationAndResidualBecomePartsOfTheProduct) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = X(b);
    Value* y = b.Op("Gelu", {b.Op("Add", {Bias(b), b.Op("MatMul", {x, Weight(b)})})});
    b.Output(b.Op("Add", {b.Input("r", DataType::kFloat, {"batch", "seq", 4}), y}));
  });
  EXPECT_EQ(test.Ops(), "attnrun.Linear");
  test.ExpectSameResults(kTolerance);
}

TEST(EpilogueTest, AProductThatOthersReadKeepsItsActivationOutside) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* product = b.Op("MatMul", {X(b), Weight(b)});
    b.Output(b.Op("Relu", {product})).Output(product);
  });
  EXPECT_EQ(test.Ops(), "Relu attnrun.Linear");
  test.ExpectSameResults(kTolerance);
}

TEST(EpilogueTest, AResidualThatEnlargesTheResultStaysOutside) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* product = b.Op("MatMul", {b.Input("x", DataType::kFloat, {1, 8}), Weight(b)});
    b.Output(b.Op("Add", {product, b.Input("r", DataType::kFloat, {"batch", 4})}));
  });
  EXPECT_EQ(test.Ops(), "Add attnrun.Linear");
  test.ExpectSameResults(kTolerance);
}

TEST(EpilogueTest, AWeightThatIsAnInputStaysAMatMul) {
  const OptimizerTester test([](GraphBuilder& b) {
    b.Output(b.Op("MatMul", {X(b), b.Input("w", DataType::kFloat, {8, 4})}));
  });
  EXPECT_EQ(test.Ops(), "MatMul");
}

TEST(EpilogueTest, PassesCanBeLeftOut) {
  opt::OptimizerOptions options;
  options.disabled_passes = {"activation"};
  const OptimizerTester test(
      [](GraphBuilder& b) { b.Output(b.Op("Relu", {b.Op("MatMul", {X(b), Weight(b)})})); },
      options);
  EXPECT_EQ(test.Ops(), "Relu attnrun.Linear");
  EXPECT_THAT(test.Misses("activation"), IsEmpty());
}

}  // namespace
}  // namespace attnrun::testing
