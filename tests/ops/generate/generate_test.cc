// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/elements.h"
#include "support/any_type.h"

namespace attnrun::testing {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(ConstantTest, AcceptsEveryAttribute) {
  const std::pair<std::string, std::pair<AttributeValue, Tensor>> kCases[] = {
      {"value", {Ints({1, 2}), Ints({1, 2})}},
      {"value_int", {int64_t{3}, ScalarInt(3)}},
      {"value_ints", {std::vector<int64_t>{}, Ints({})}},
      {"value_float", {2.5F, Make<float>({}, {2.5F})}},
      {"value_floats", {std::vector<float>{1, 2}, Make<float>({2}, {1, 2})}},
      {"value_string", {std::string("a"), Make<std::string>({}, {"a"})}},
      {"value_strings", {std::vector<std::string>{"a", "b"}, Make<std::string>({2}, {"a", "b"})}},
  };
  for (const auto& [name, test] : kCases) {
    OpTester op("Constant", 13);
    op.Attribute(name, test.first);
    ExpectSame(op.Reference().value()[0], test.second);
    ExpectKernelSame(op);
  }
  ExpectError(OpTester("Constant", 13), "attribute 'value' is required (found none)");
  ExpectError(OpTester("Constant", 11).Attribute("value_int", int64_t{1}),
              "attribute 'value' is required (found none); attribute 'value_int' is unknown to "
              "version 11");
}

TEST(ConstantOfShapeTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  for (const DataType type : TypesOfEachWidth()) {
    OpTester op("ConstantOfShape", 24);
    op.Attribute("value", RandomBits(type, {1}, generator)).Input(Ints({3, 5}));
    ExpectKernelSame(op);
  }
  ExpectSame(OpTester("ConstantOfShape", 9).Input(Ints({})).Reference().value()[0],
             Make<float>({}, {0}));
  ExpectError(OpTester("ConstantOfShape", 9).Input(Ints({2, -1})),
              "shape [2,-1] has a negative extent");
  ExpectError(OpTester("ConstantOfShape", 9).Attribute("value", Ints({1, 2})).Input(Ints({2})),
              "value must have one element, but is int64[2]");
  const OpTester huge = OpTester("ConstantOfShape", 9).Input(Ints({int64_t{1} << 60}));
  EXPECT_FALSE(huge.Reference().ok());
  EXPECT_FALSE(huge.Kernel().ok());
}

TEST(RangeTest, CountsIntegers) {
  const struct {
    int64_t start, limit, delta;
    std::vector<int64_t> expected;
  } kCases[] = {{0, 3, 1, {0, 1, 2}},
                {3, 9, 4, {3, 7}},
                {5, 0, -2, {5, 3, 1}},
                {0, 5, -1, {}},
                {kMin, kMax, kMax, {kMin, -1, kMax - 1}},
                {kMax, kMin, kMin, {kMax, -1}},
                {kMin, kMax, int64_t{1} << 62, {kMin, kMin / 2, 0, -(kMin / 2)}}};
  for (const auto& test : kCases) {
    OpTester op("Range", 11);
    op.Input(ScalarInt(test.start)).Input(ScalarInt(test.limit)).Input(ScalarInt(test.delta));
    ExpectSame(op.Reference().value()[0], Ints(test.expected));
    ExpectKernelSame(op);
  }
}

TEST(RangeTest, AcceptsEveryType) {
  for (const DataType type : {DataType::kFloat, DataType::kDouble, DataType::kInt16,
                              DataType::kInt32, DataType::kFloat16, DataType::kBfloat16}) {
    OpTester op("Range", 27);
    for (const double value : {1.0, 5.0, 2.0}) op.Input(FromDoubles(type, {}, {value}).value());
    EXPECT_EQ(ToDoubles(op.Reference().value()[0]).value(), (std::vector<double>{1, 3}));
    if (type == DataType::kFloat || type == DataType::kInt32) ExpectKernelSame(op);
  }
  OpTester old("Range", 11);
  for (int i = 0; i < 3; ++i) old.Input(FromDoubles(DataType::kFloat16, {}, {1.0}).value());
  ExpectError(old, "a range of float16 is not covered by this version");
}

TEST(RangeTest, RefusesEndlessRanges) {
  OpTester still("Range", 11);
  still.Input(ScalarInt(0)).Input(ScalarInt(3)).Input(ScalarInt(0));
  ExpectError(still, "there is no range from 0 to 3 in steps of 0");
  OpTester wide("Range", 11);
  wide.Input(ScalarInt(kMin)).Input(ScalarInt(kMax)).Input(ScalarInt(1));
  ExpectError(wide,
              "there is no range from -9223372036854775808 to 9223372036854775807 in steps of 1");
  for (const float limit : {std::numeric_limits<float>::infinity(), 1e30F, NAN}) {
    OpTester op("Range", 11);
    for (const float value : {0.0F, limit, 1.0F}) op.Input(Make<float>({}, {value}));
    EXPECT_FALSE(op.Reference().ok());
    EXPECT_FALSE(op.Kernel().ok());
  }
  OpTester vectors("Range", 11);
  vectors.Input(Ints({0, 1})).Input(ScalarInt(3)).Input(ScalarInt(1));
  ExpectError(vectors,
              "start, limit and delta must be scalars of one type, but input 0 is int64[2]");
}

TEST(OneHotTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  for (const DataType type : TypesOfEachWidth()) {
    // Kernels accept elements of at most one machine word.
    if (type == DataType::kComplex128) continue;
    for (int64_t axis = -3; axis < 3; ++axis) {
      for (const int64_t depth : {0, 1, 4}) {
        const DataType index_type = axis % 2 == 0 ? DataType::kInt64 : DataType::kInt32;
        OpTester op("OneHot", 11);
        op.Attribute("axis", axis).Input(RandomInts(index_type, {3, 5}, generator, -6, 6));
        ExpectKernelSame(op.Input(ScalarInt(depth)).Input(RandomBits(type, {2}, generator)));
      }
    }
  }
  OpTester far("OneHot", 11);
  ExpectKernelSame(far.Input(Ints({kMin, kMax})).Input(ScalarInt(1)).Input(Ints({0, 1})));
}

TEST(OneHotTest, FollowsTheText) {
  OpTester op("OneHot", 11);
  op.Attribute("axis", int64_t{0}).Input(Make<float>({3}, {1, -1, 5})).Input(ScalarInt(2));
  op.Input(Make<int64_t>({2}, {7, 8}));
  ExpectSame(op.Reference().value()[0], Make<int64_t>({2, 3}, {7, 7, 7, 8, 8, 7}));
  OpTester far("OneHot", 11);
  far.Input(Ints({kMin, kMax})).Input(ScalarInt(1)).Input(Ints({0, 1}));
  ExpectSame(far.Reference().value()[0], Make<int64_t>({2, 1}, {0, 0}));
  for (const int64_t depth : {int64_t{-1}, kMax, int64_t{1} << 40}) {
    OpTester absurd("OneHot", 11);
    absurd.Input(Ints({0, 1})).Input(ScalarInt(depth)).Input(Ints({0, 1}));
    EXPECT_FALSE(absurd.Reference().ok());
  }
}

TEST(EyeLikeTest, FollowsTheText) {
  const Tensor x = Make<float>({2, 3}, {9, 9, 9, 9, 9, 9});
  ExpectSame(OpTester("EyeLike", 9).Attribute("k", int64_t{1}).Input(x).Reference().value()[0],
             Make<float>({2, 3}, {0, 1, 0, 0, 0, 1}));
  for (const int64_t k : {kMin, kMax}) {
    OpTester op("EyeLike", 9);
    op.Attribute("k", k).Attribute("dtype", int64_t{7}).Input(x);
    ExpectSame(op.Reference().value()[0], Make<int64_t>({2, 3}, {0, 0, 0, 0, 0, 0}));
  }
  ExpectError(OpTester("EyeLike", 9).Input(Ints({1})),
              "the input must be a matrix, but is int64[1]");
}

// The mean and the variance of n draws are within 6 standard deviations of the expected ones.
TEST(RandomTest, DistributionsAndSeeds) {
  const int64_t n = 100000;
  const struct {
    std::string name;
    double mean, variance;
  } kCases[] = {{"RandomNormal", 0, 1}, {"RandomUniform", .5, 1. / 12}};
  for (const auto& test : kCases) {
    OpTester op(test.name, 22);
    op.Attribute("shape", std::vector<int64_t>{n}).Attribute("seed", 1.5F);
    const Tensor drawn = op.Reference().value()[0];
    ExpectSame(op.Reference().value()[0], drawn);
    double sum = 0;
    double squares = 0;
    const std::vector<double> values = ToDoubles(drawn).value();
    for (const double value : values) {
      sum += value;
      squares += (value - test.mean) * (value - test.mean);
    }
    EXPECT_NEAR(sum / n, test.mean, 6 * std::sqrt(test.variance / n));
    EXPECT_NEAR(squares / n, test.variance, 6 * test.variance * std::sqrt(2.0 / n));
    OpTester like(test.name + "Like", 22);
    like.Input(FromDoubles(DataType::kFloat16, {2, 3}, std::vector<double>(6, 0)).value());
    EXPECT_EQ(TypeAndShape(like.Reference().value()[0]), "float16[2,3]");
    OpTester absurd(test.name, 22);
    absurd.Attribute("shape", std::vector<int64_t>{kMax, 2});
    EXPECT_FALSE(absurd.Reference().ok());
  }
}

TEST(RandomTest, KernelsDrawTheNumbersOfTheReference) {
  for (const std::string name : {"RandomNormal", "RandomUniform"}) {
    OpTester op(name, 22);
    op.Attribute("shape", std::vector<int64_t>{3, 3333}).Attribute("seed", 2.0F);
    op.Attribute(name == "RandomNormal" ? "mean" : "low", -3.0F);
    op.Attribute(name == "RandomNormal" ? "scale" : "high", 5.0F);
    // Both compute in double; the last bit may round the other way.
    ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], kEpsilon);
    OpTester like(name + "Like", 22);
    like.Input(Make<float>({2, 5}, std::vector<float>(10)));
    ExpectClose(like.Kernel().value()[0], like.Reference().value()[0], kEpsilon);
  }
}

TEST(RandomTest, CertainOutcomesAreNotRandom) {
  OpTester bernoulli("Bernoulli", 15);
  bernoulli.Attribute("dtype", int64_t{7}).Input(Make<float>({4}, {0, 1, 0, 1}));
  ExpectSame(bernoulli.Reference().value()[0], Ints({0, 1, 0, 1}));
  OpTester multinomial("Multinomial", 7);
  multinomial.Attribute("sample_size", int64_t{3}).Attribute("dtype", int64_t{7});
  multinomial.Input(Make<float>({2, 2}, {-1000, 0, 0, -1000}));
  ExpectSame(multinomial.Reference().value()[0], Make<int64_t>({2, 3}, {1, 1, 1, 0, 0, 0}));
}

}  // namespace
}  // namespace attnrun::testing
