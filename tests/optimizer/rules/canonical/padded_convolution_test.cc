// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

// Sums of 4 * 3 products; zeros may or may not be added.
constexpr double kTolerance = 24 * kEpsilon;

Value* Weight(GraphBuilder& b) {
  std::mt19937 generator(7);
  return b.Constant("w", RandomFloats({6, 4, 3}, generator));
}

// A convolution of a tensor padded by `pads` with `filling`, in this mode of Pad.
OptimizerTester Padded(std::initializer_list<int64_t> pads, const AttributeMap& conv = {},
                       float filling = 0, const std::string& mode = "constant") {
  return OptimizerTester([=](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 4, 8});
    Value* counts = b.Constant<int64_t>("pads", {6}, pads);
    Value* value = b.Constant<float>("value", {}, {filling});
    Value* padded = b.Op("Pad", {x, counts, value}, {{"mode", mode}});
    b.Output(b.Op("Conv", {padded, Weight(b)}, conv));
  });
}

TEST(PaddedConvolutionTest, ZerosBecomePadsOfTheConvolution) {
  const OptimizerTester test = Padded({0, 0, 2, 0, 0, 1});
  EXPECT_EQ(test.Ops(), "Conv");
  test.ExpectSameResults(kTolerance);
  const OptimizerTester both = Padded({0, 0, 2, 0, 0, 0}, {{"pads", std::vector<int64_t>{1, 3}}});
  EXPECT_EQ(both.Ops(), "Conv");
  both.ExpectSameResults(kTolerance);
  const OptimizerTester valid =
      Padded({0, 0, 2, 0, 0, 1}, {{"auto_pad", "VALID"}, {"strides", std::vector<int64_t>{2}}});
  EXPECT_EQ(valid.Ops(), "Conv");
  valid.ExpectSameResults(kTolerance);
}

TEST(PaddedConvolutionTest, PaddedAxesMayBeNamed) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 4, "length"});
    Value* counts = b.Constant<int64_t>("pads", {2}, {2, 1});
    Value* padded = b.Op("Pad", {x, counts, nullptr, b.Constant<int64_t>("axes", {1}, {-1})});
    b.Output(b.Op("Conv", {padded, Weight(b)}));
  });
  EXPECT_EQ(test.Ops(), "Conv");
  test.ExpectSameResults(kTolerance);
}

// The run refuses an axis that is named twice.
TEST(PaddedConvolutionTest, AnAxisThatIsNamedTwiceStays) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 4, "length"});
    Value* counts = b.Constant<int64_t>("pads", {4}, {2, 1, 2, 1});
    Value* padded = b.Op("Pad", {x, counts, nullptr, b.Constant<int64_t>("axes", {2}, {2, -1})});
    b.Output(b.Op("Conv", {padded, Weight(b)}));
  });
  EXPECT_EQ(test.Ops(), "Conv Pad");
}

TEST(PaddedConvolutionTest, OtherPadsStay) {
  const AttributeMap none;
  for (const OptimizerTester& test :
       {Padded({0, 0, -2, 0, 0, 1}), Padded({1, 0, 0, 0, 0, 0}),
        Padded({0, 0, 2, 0, 0, 1}, none, 1), Padded({0, 0, 2, 0, 0, 1}, none, 0, "edge"),
        Padded({0, 0, 2, 0, 0, 1}, {{"auto_pad", "SAME_UPPER"}})}) {
    EXPECT_EQ(test.Ops(), "Conv Pad");
    test.ExpectSameResults(kTolerance);
  }
}

// The sum of the pads would not fit an integer; the run refuses them.
TEST(PaddedConvolutionTest, HugePadsStay) {
  constexpr int64_t kFar = std::numeric_limits<int64_t>::max();
  const AttributeMap none;
  EXPECT_EQ(Padded({0, 0, kFar, 0, 0, kFar}, none).Ops(), "Conv Pad");
  EXPECT_EQ(Padded({0, 0, 1, 0, 0, 1}, {{"pads", std::vector<int64_t>{kFar, kFar}}}).Ops(),
            "Conv Pad");
}

}  // namespace
}  // namespace attnrun::testing
