#include <gtest/gtest.h>

#include <limits>

#include "core/elements.h"
#include "support/any_type.h"

namespace attnrun::testing {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(ConstantTest, EveryAttribute) {
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

TEST(RangeTest, Integers) {
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

TEST(RangeTest, EveryType) {
  for (const DataType type : {DataType::kFloat, DataType::kDouble, DataType::kInt16,
                              DataType::kInt32, DataType::kFloat16, DataType::kBfloat16}) {
    OpTester op("Range", 27);
    for (const double value : {1.0, 5.0, 2.0}) op.Input(FromDoubles(type, {}, {value}).value());
    EXPECT_EQ(ToDoubles(op.Reference().value()[0]).value(), (std::vector<double>{1, 3}));
    ExpectKernelSame(op);
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

}  // namespace
}  // namespace attnrun::testing
