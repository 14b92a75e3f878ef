// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

// Sums of up to 24 products and a bias, in any order.
constexpr double kTolerance = 48 * kEpsilon;

const AttributeMap& Swap() {
  static const auto& swap = *new AttributeMap{{"perm", std::vector<int64_t>{0, 2, 1}}};
  return swap;
}

Value* Random(GraphBuilder& b, const std::vector<int64_t>& shape, int seed = 7) {
  std::mt19937 generator(seed);
  return b.Constant("w", RandomFloats(shape, generator));
}

Value* Convolution(GraphBuilder& b, Value* x, AttributeMap attributes = {}, int seed = 7) {
  return b.Op("Conv", {x, Random(b, {8, 8, 1}, seed), Random(b, {8}, seed)}, std::move(attributes));
}

// The channels are the last axis before the convolution, after it, or on both sides.
OptimizerTester Tested(bool before, bool after, const AttributeMap& attributes = {}) {
  return OptimizerTester([&](GraphBuilder& b) {
    Value* x = before ? b.Op("Transpose", {b.Input("x", DataType::kFloat, {"b", "l", 8})}, Swap())
                      : b.Input("x", DataType::kFloat, {"b", 8, "l"});
    Value* y = Convolution(b, x, attributes);
    b.Output(after ? b.Op("Transpose", {y}, Swap()) : y);
  });
}

void ExpectOps(const OptimizerTester& test, const std::string& ops) {
  EXPECT_EQ(test.Ops(), ops);
  test.ExpectSameResults(kTolerance);
}

TEST(PointwiseConvolutionTest, ChannelsLastOnEitherSide) {
  ExpectOps(Tested(true, true), "attnrun.Linear");
  ExpectOps(Tested(true, false), "Transpose attnrun.Linear");
  ExpectOps(Tested(false, true), "Transpose attnrun.Linear");
}

TEST(PointwiseConvolutionTest, AttributesThatChangeNothing) {
  const AttributeMap attributes = {{"kernel_shape", std::vector<int64_t>{1}},
                                   {"strides", std::vector<int64_t>{1}},
                                   {"dilations", std::vector<int64_t>{2}},
                                   {"pads", std::vector<int64_t>{0, 0}},
                                   {"group", int64_t{1}}};
  ExpectOps(Tested(true, true, attributes), "attnrun.Linear");
  ExpectOps(Tested(true, true, {{"auto_pad", std::string("SAME_UPPER")}}), "attnrun.Linear");
}

TEST(PointwiseConvolutionTest, ChannelsFirstOnBothSidesStay) {
  ExpectOps(Tested(false, false), "Conv");
}

TEST(PointwiseConvolutionTest, StridesAndPadsStay) {
  ExpectOps(Tested(true, true, {{"strides", std::vector<int64_t>{2}}}), "Conv Transpose*2");
  ExpectOps(Tested(true, true, {{"pads", std::vector<int64_t>{1, 1}}}), "Conv Transpose*2");
}

TEST(PointwiseConvolutionTest, GroupsAndLongerKernelsStay) {
  for (const bool grouped : {true, false}) {
    const OptimizerTester test([&](GraphBuilder& b) {
      Value* x = b.Op("Transpose", {b.Input("x", DataType::kFloat, {"b", 5, 8})}, Swap());
      Value* w = grouped ? Random(b, {8, 4, 1}) : Random(b, {8, 8, 3});
      const AttributeMap attributes = {{"group", int64_t{grouped ? 2 : 1}}};
      b.Output(b.Op("Transpose", {b.Op("Conv", {x, w}, attributes)}, Swap()));
    });
    ExpectOps(test, "Conv Transpose*2");
  }
}

TEST(PointwiseConvolutionTest, ProjectionsOfAnAttentionAreMerged) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Op("Transpose", {b.Input("x", DataType::kFloat, {"b", "l", 8})}, Swap());
    const auto split = [&](int seed) {
      Value* shape = b.Constant<int64_t>("shape", {4}, {0, 2, 4, -1});
      return b.Op("Reshape", {Convolution(b, x, {}, seed), shape});
    };
    const AttributeMap rows_last = {{"perm", std::vector<int64_t>{0, 1, 3, 2}}};
    Value* scores = b.Op("MatMul", {b.Op("Transpose", {split(1)}, rows_last), split(2)});
    Value* weights = b.Op("Softmax", {scores}, {{"axis", int64_t{-1}}});
    Value* heads = b.Op("MatMul", {weights, b.Op("Transpose", {split(3)}, rows_last)});
    Value* merged = b.Op("Reshape", {b.Op("Transpose", {heads}, rows_last),
                                     b.Constant<int64_t>("shape", {3}, {0, 8, -1})});
    b.Output(b.Op("Transpose", {Convolution(b, merged)}, Swap()));
  });
  EXPECT_EQ(test.Ops(), "attnrun.Attention attnrun.Linear*2");
  test.Scale("x", 0.125F);
  test.ExpectSameResults(256 * kEpsilon);
}

}  // namespace
}  // namespace attnrun::testing
