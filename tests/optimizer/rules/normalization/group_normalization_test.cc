// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/elements.h"
#include "support/any_type.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

// Moments of 15 elements, then a quotient, a product and a sum.
constexpr double kTolerance = 64 * kEpsilon;

// Six channels, each with its own scale and bias.
OptimizerTester Normalized(int64_t groups, bool reshaped, float scale_before = 1) {
  return OptimizerTester([=](GraphBuilder& b) {
    std::mt19937 generator(5);
    Value* const x = b.Input("x", DataType::kFloat, {"batch", 6, 5});
    const auto shape = [&](int64_t second) { return b.Constant("s", Ints({0, second, -1})); };
    const auto filled = [&](float value) {
      const std::vector<double> all(groups, value);
      return b.Constant("f", FromDoubles(DataType::kFloat, {groups}, all).value());
    };
    Value* y = reshaped ? b.Op("Reshape", {x, shape(groups)}) : x;
    y = b.Op("InstanceNormalization", {y, filled(scale_before), filled(0)}, {{"epsilon", 1e-3F}});
    if (reshaped) y = b.Op("Reshape", {y, shape(6)});
    y = b.Op("Mul", {y, b.Constant("scale", RandomFloats({6, 1}, generator))});
    b.Output(b.Op("Add", {b.Constant("bias", RandomFloats({1, 6, 1}, generator)), y}));
  });
}

TEST(GroupNormalizationTest, ScaleAndBiasBecomeInputs) {
  const OptimizerTester of_channels = Normalized(6, false);
  EXPECT_EQ(of_channels.Ops(), "InstanceNormalization");
  of_channels.ExpectSameResults(kTolerance);
  const OptimizerTester of_pairs = Normalized(3, true);
  EXPECT_EQ(of_pairs.Ops(), "GroupNormalization");
  of_pairs.ExpectSameResults(kTolerance);
}

TEST(GroupNormalizationTest, ANormWithAScaleKeepsIt) {
  const OptimizerTester scaled = Normalized(3, true, 2);
  EXPECT_EQ(scaled.Count("InstanceNormalization"), 1);
  scaled.ExpectSameResults(kTolerance);
}

TEST(GroupNormalizationTest, GroupsOfOneChannelAreInstanceNormalization) {
  for (const int64_t groups : {4, 2}) {
    const OptimizerTester test(
        [groups](GraphBuilder& b) {
          std::mt19937 generator(5);
          Value* const x = b.Input("x", DataType::kFloat, {"batch", 4, 5});
          b.Output(b.Op("GroupNormalization",
                        {x, b.Constant("scale", RandomFloats({4}, generator)),
                         b.Constant("bias", RandomFloats({4}, generator))},
                        {{"num_groups", groups}}));
        },
        {}, 21);
    EXPECT_EQ(test.Ops(), groups == 4 ? "InstanceNormalization" : "GroupNormalization");
    test.ExpectSameResults(kTolerance);
  }
}

}  // namespace
}  // namespace attnrun::testing
