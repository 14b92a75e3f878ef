// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "core/elements.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

// Large enough not to be converted at once, as all small constants are.
constexpr int64_t kRows = 600;
constexpr int64_t kColumns = 700;

const std::vector<int64_t> kNumber = {};
const std::vector<int64_t> kPerColumn = {1, kColumns};
const std::vector<int64_t> kPerRow = {kRows, 1};

struct Weight {
  DataType type = DataType::kInt8;
  std::vector<int64_t> scale;
  // No Sub if nullopt; each point is a whole number, plus this.
  std::optional<std::vector<int64_t>> zero = std::nullopt;
  float zero_rest = 0;
};

Tensor Numbers(const std::vector<int64_t>& shape, float first, float step) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  std::vector<float> numbers(count);
  for (int64_t i = 0; i < count; ++i) numbers[i] = first + step * static_cast<float>(i % 7);
  return Make<float>(shape, numbers);
}

Value* Floats(GraphBuilder& b, const Weight& weight) {
  std::mt19937 generator(3);
  const int64_t lowest = weight.type == DataType::kInt8 ? -128 : 0;
  Value* y = b.Op("Cast",
                  {b.Constant("w", RandomInts(weight.type, {kRows, kColumns}, generator, lowest,
                                              lowest + 255))},
                  {{"to", static_cast<int64_t>(DataType::kFloat)}});
  if (weight.zero.has_value()) {
    y = b.Op("Sub", {y, b.Constant("zero", Numbers(*weight.zero, 3 + weight.zero_rest, 1))});
  }
  return b.Op("Mul", {b.Constant("scale", Numbers(weight.scale, 0.5F, 0.25F)), y});
}

OptimizerTester Product(const Weight& weight) {
  return OptimizerTester([=](GraphBuilder& b) {
    b.Output(b.Op("MatMul", {b.Input("x", DataType::kFloat, {2, kRows}), Floats(b, weight)}));
  });
}

OptimizerTester Lookup(const Weight& weight, int64_t axis) {
  return OptimizerTester([=](GraphBuilder& b) {
    Value* const ids = b.Input("ids", DataType::kInt64, {2, 3});
    b.Output(b.Op("Gather", {Floats(b, weight), ids}, {{"axis", axis}}));
  });
}

TEST(ScaledIntegersTest, WeightsAreConvertedWhenTheModelIsLoaded) {
  const std::vector<Weight> weights = {
      {.scale = kNumber},
      {.scale = kPerColumn},
      {.scale = {kColumns}},
      {.scale = kPerRow},
      {.type = DataType::kUint8, .scale = kPerColumn, .zero = kNumber},
      {.type = DataType::kUint8, .scale = kPerColumn, .zero = kPerColumn},
      {.scale = kPerRow, .zero = kPerRow},
  };
  for (const Weight& weight : weights) {
    OptimizerTester test = Product(weight);
    EXPECT_EQ(test.Applied("scaled_integers"), 1);
    EXPECT_EQ(test.Ops(), "attnrun.Linear");
    test.ExpectSameResults(1e-5F * kRows * 300);
  }
}

TEST(ScaledIntegersTest, BlocksHaveAScaleForEachRow) {
  OptimizerTester test([](GraphBuilder& b) {
    std::mt19937 generator(3);
    const Tensor groups = RandomInts(DataType::kInt8, {600, 22, 32}, generator, -8, 7);
    Value* floats =
        b.Op("Cast", {b.Constant("w", groups)}, {{"to", static_cast<int64_t>(DataType::kFloat)}});
    floats = b.Op("Mul", {floats, b.Constant("scale", Numbers({600, 22, 1}, 0.5F, 0.25F))});
    Value* matrix =
        b.Op("Reshape", {floats, b.Constant("shape", Make<int64_t>({2}, {600, 22 * 32}))});
    Value* const x = b.Input("x", DataType::kFloat, {2, 22 * 32});
    b.Output(
        b.Op("MatMul", {x, b.Op("Transpose", {matrix}, {{"perm", std::vector<int64_t>{1, 0}}})}));
  });
  EXPECT_EQ(test.Applied("scaled_integers"), 1);
  EXPECT_EQ(test.Ops(), "attnrun.Linear");
  test.ExpectSameResults(1e-5F * 704 * 10);
}

TEST(ScaledIntegersTest, TablesAreConvertedRowByRow) {
  const Tensor ids = Make<int64_t>({2, 3}, {0, 4, 3, 599, -1, 7});
  OptimizerTester one = Lookup({.scale = kNumber}, 0);
  EXPECT_EQ(one.Ops(), "DequantizeLinear Gather");
  one.Feed("ids", ids).ExpectSameResults(0);
  OptimizerTester rows = Lookup({.scale = kPerRow}, 0);
  EXPECT_EQ(rows.Ops(), "Cast Gather*2 Mul Unsqueeze");
  rows.Feed("ids", ids).ExpectSameResults(0);
  const Weight columns = {.type = DataType::kUint8, .scale = {kColumns}, .zero = kPerColumn};
  OptimizerTester last = Lookup(columns, 1);
  EXPECT_EQ(last.Ops(), "Cast*2 Gather*3 Mul Sub");
  last.Feed("ids", ids).ExpectSameResults(0);
}

TEST(ScaledIntegersTest, NotOtherScalesAndZeros) {
  // A zero point between two integers, one that no uint8 is, and one for other rows than the scale.
  const std::vector<Weight> weights = {
      {.scale = kNumber, .zero = kNumber, .zero_rest = 0.5F},
      {.type = DataType::kUint8, .scale = kNumber, .zero = kNumber, .zero_rest = -4},
      {.scale = kPerColumn, .zero = kPerRow},
      {.scale = {kRows, kColumns}},
  };
  for (const Weight& weight : weights) EXPECT_EQ(Product(weight).Applied("scaled_integers"), 0);
}

}  // namespace
}  // namespace attnrun::testing
