// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "core/elements.h"
#include "support/any_type.h"

namespace attnrun::testing {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

Tensor Zeros(const std::vector<int64_t>& shape) {
  const std::vector<int64_t> zeros(NumElements(shape).value(), 0);
  return FromInts(DataType::kInt64, shape, zeros).value();
}

TEST(ShapeTest, ShapeClampsItsBounds) {
  const struct {
    int64_t start, end;
    std::vector<int64_t> expected;
  } kCases[] = {{0, kMax, {2, 3, 4}}, {-1, kMax, {4}}, {1, -1, {3}},  {kMin, kMax, {2, 3, 4}},
                {2, 1, {}},           {5, 9, {}},      {0, kMin, {}}, {-2, 2, {3}}};
  for (const auto& test : kCases) {
    OpTester op("Shape", 19);
    op.Attribute("start", test.start).Attribute("end", test.end).Input(Zeros({2, 3, 4}));
    ExpectSame(op.Reference().value()[0], Ints(test.expected));
    ExpectKernelSame(op);
  }
  OpTester size("Size", 13);
  ExpectSame(size.Input(Zeros({2, 0, 4})).Kernel().value()[0], ScalarInt(0));
  OpTester old("Shape", 13);
  old.Attribute("start", int64_t{1}).Input(Zeros({2}));
  EXPECT_EQ(old.Reference().status().message(), "attribute 'start' is unknown to version 13");
}

TEST(ShapeTest, ReshapeFollowsTheRules) {
  const struct {
    std::vector<int64_t> from, wanted, expected;
    int64_t allow_zero;
  } kCases[] = {
      {{2, 3, 4}, {4, 2, 3}, {4, 2, 3}, 0},
      {{2, 3, 4}, {-1, 4}, {6, 4}, 0},
      {{2, 3, 4}, {0, -1}, {2, 12}, 0},
      {{2, 3, 4}, {0, 0, 2, -1}, {2, 3, 2, 2}, 0},
      {{1}, {}, {}, 0},
      {{0, 3}, {0, -1}, {0, 3}, 0},
      {{0, 3, 4}, {3, 0}, {3, 0}, 1},
      {{2, 0, 8}, {0, 0, -1, 4}, {2, 0, 2, 4}, 0},
      {{0, 3}, {-1}, {0}, 0},
  };
  for (const auto& test : kCases) {
    OpTester op("Reshape", 14);
    op.Attribute("allowzero", test.allow_zero).Input(Zeros(test.from)).Input(Ints(test.wanted));
    ExpectSame(op.Reference().value()[0], Zeros(test.expected));
    ExpectKernelSame(op);
  }
}

TEST(ShapeTest, ReshapeErrorsSayWhatIsWrong) {
  const struct {
    std::vector<int64_t> wanted;
    int64_t allow_zero;
    std::string message;
  } kCases[] = {
      {{4, 2},
       0,
       "cannot reshape int64[2,3] to [4,2]: the numbers of elements differ (a shape fixed at "
       "export "
       "fits only the sizes of the export)"},
      {{4, -1},
       0,
       "cannot reshape int64[2,3] to [4,-1]: the numbers of elements differ (a shape fixed at "
       "export "
       "fits only the sizes of the export)"},
      {{-1, -1}, 0, "cannot reshape int64[2,3] to [-1,-1]: only one extent may be -1"},
      {{-2, -3}, 0, "cannot reshape int64[2,3] to [-2,-3]: an extent must be at least -1"},
      {{2, 3, 0}, 0, "cannot reshape int64[2,3] to [2,3,0]: there is no axis 2 to copy for 0"},
      {{0, -1}, 1, "cannot reshape int64[2,3] to [0,-1]: -1 is ambiguous beside an extent of 0"},
      {{kMax, kMax, -1},
       0,
       "shape [9223372036854775807,9223372036854775807] has more elements than 64 bits can count"},
      {{int64_t{1} << 32, int64_t{1} << 32},
       0,
       "shape [4294967296,4294967296] has more elements than 64 bits can count"},
  };
  for (const auto& test : kCases) {
    OpTester op("Reshape", 14);
    op.Attribute("allowzero", test.allow_zero).Input(Zeros({2, 3})).Input(Ints(test.wanted));
    ExpectError(op, test.message);
  }
  OpTester floats("Reshape", 14);
  floats.Input(Zeros({2})).Input(Make<float>({1}, {2}));
  ExpectError(floats, "shape must be a list of int64 or int32, but is float[1]");
}

TEST(ShapeTest, ViewsOfEveryTypeShareTheBytes) {
  std::mt19937 generator(Seed());
  for (const DataType type : TypesOfEachWidth()) {
    const Tensor x = RandomBits(type, {1, 3, 1, 2}, generator);
    const std::pair<OpTester, std::string> kCases[] = {
        {OpTester("Reshape", 21).Input(x).Input(Ints({2, 3})), "[2,3]"},
        {OpTester("Squeeze", 21).Input(x), "[3,2]"},
        {OpTester("Squeeze", 21).Input(x).Input(Ints({-2})), "[1,3,2]"},
        {OpTester("Squeeze", 21).Input(x).Input(Ints({})), "[1,3,1,2]"},
        {OpTester("Squeeze", 11).Attribute("axes", std::vector<int64_t>{0}).Input(x), "[3,1,2]"},
        {OpTester("Unsqueeze", 21).Input(x).Input(Ints({-1, 0})), "[1,1,3,1,2,1]"},
        {OpTester("Unsqueeze", 11).Attribute("axes", std::vector<int64_t>{1}).Input(x),
         "[1,1,3,1,2]"},
        {OpTester("Flatten", 21).Attribute("axis", int64_t{-1}).Input(x), "[3,2]"},
        {OpTester("Flatten", 21).Attribute("axis", int64_t{4}).Input(x), "[6,1]"},
        {OpTester("Flatten", 21).Attribute("axis", int64_t{0}).Input(x), "[1,6]"},
    };
    for (const auto& [op, shape] : kCases) {
      const Tensor y = op.Kernel().value()[0];
      EXPECT_EQ(ToString(y.shape()), shape);
      EXPECT_EQ(y.raw(), x.raw());
      EXPECT_TRUE(y.is_dense());
    }
  }
}

TEST(ShapeTest, AxesMustFit) {
  OpTester wide("Squeeze", 13);
  wide.Input(Zeros({2, 1})).Input(Ints({0}));
  ExpectError(wide, "cannot squeeze axis 0 of int64[2,1]: its extent is 2, not 1");
  OpTester outside("Squeeze", 13);
  outside.Input(Zeros({2, 1})).Input(Ints({kMin}));
  ExpectError(outside, "axis -9223372036854775808 is outside [-2,1] for rank 2");
  OpTester twice("Unsqueeze", 13);
  twice.Input(Zeros({2})).Input(Ints({0, -3}));
  ExpectError(twice, "axis 0 is named twice");
  OpTester flatten("Flatten", 13);
  flatten.Attribute("axis", int64_t{3}).Input(Zeros({2, 1}));
  ExpectError(flatten, "axis 3 is outside [-2,2] for int64[2,1]");
  OpTester old("Squeeze", 11);
  old.Input(Zeros({1})).Input(Ints({0}));
  ExpectError(old, "version 11 takes 1 to 1 inputs, but found 2");
}

}  // namespace
}  // namespace attnrun::testing
