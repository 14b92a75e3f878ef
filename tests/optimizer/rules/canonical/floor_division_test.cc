// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

enum class Spelling { kTorchScript, kDynamo, kTransformers };
constexpr Spelling kSpellings[] = {Spelling::kTorchScript, Spelling::kDynamo,
                                   Spelling::kTransformers};

// a // b as an exporter writes it.
Value* FloorDivided(GraphBuilder& b, Value* dividend, Value* divisor,
                    Spelling spelling = Spelling::kTorchScript, int64_t fmod = 0) {
  Value* zero = b.Constant<int64_t>("zero", {}, {0});
  Value* quotient = b.Op("Div", {dividend, divisor});
  Value* below = b.Op("Less", {dividend, zero});
  Value* rest = b.Op("Mod", {dividend, divisor}, {{"fmod", fmod}});
  if (spelling != Spelling::kTorchScript) {
    Value* signs_equal = b.Op("Equal", {b.Op("Sign", {dividend}), b.Op("Sign", {divisor})});
    Value* differ = spelling == Spelling::kDynamo
                        ? b.Op("Equal", {below, b.Op("GreaterOrEqual", {divisor, zero})})
                        : b.Op("Not", {signs_equal});
    Value* uneven = b.Op("Cast", {rest}, {{"to", static_cast<int64_t>(DataType::kBool)}});
    Value* offset = b.Op("Cast", {b.Op("And", {differ, uneven})},
                         {{"to", static_cast<int64_t>(DataType::kInt64)}});
    return b.Op("Sub", {quotient, offset});
  }
  Value* signs_differ = b.Op("Xor", {below, b.Op("Less", {divisor, zero})});
  Value* uneven = b.Op("Not", {b.Op("Equal", {rest, zero})});
  Value* less = b.Op("Sub", {quotient, b.Constant<int64_t>("one", {}, {1})});
  return b.Op("Where", {b.Op("And", {signs_differ, uneven}), less, quotient});
}

Value* Ints(GraphBuilder& b) { return b.Input("x", DataType::kInt64, {"count"}); }

const std::vector<int64_t>& Dividends() {
  static const auto* const numbers =
      new std::vector<int64_t>{0,
                               1,
                               3,
                               4,
                               5,
                               -1,
                               -3,
                               -4,
                               -5,
                               -8,
                               std::numeric_limits<int64_t>::max(),
                               std::numeric_limits<int64_t>::min(),
                               std::numeric_limits<int64_t>::min() + 1};
  return *numbers;
}

void ExpectSameOfDividends(OptimizerTester& test) {
  const auto count = static_cast<int64_t>(Dividends().size());
  test.Dim("count", count).Feed("x", Make<int64_t>({count}, Dividends()));
  test.ExpectSameResults(0);
}

TEST(FloorDivisionTest, FusesDivisionByANumber) {
  for (const Spelling spelling : kSpellings) {
    for (const int64_t divisor : {4, 3, -4, -3}) {
      OptimizerTester test([&](GraphBuilder& b) {
        Value* by = b.Constant<int64_t>("by", {}, {divisor});
        b.Output(b.Op("Neg", {FloorDivided(b, Ints(b), by, spelling)}));
      });
      EXPECT_EQ(test.Ops(), "Neg attnrun.FloorDiv") << divisor;
      ExpectSameOfDividends(test);
    }
  }
}

TEST(FloorDivisionTest, FusesDivisionByAComputedNumber) {
  for (const Spelling spelling : kSpellings) {
    OptimizerTester test([&](GraphBuilder& b) {
      Value* by = b.Input("by", DataType::kInt64, {4, 1});
      b.Output(b.Op("Neg", {FloorDivided(b, Ints(b), by, spelling)}));
    });
    EXPECT_EQ(test.Ops(), "Neg attnrun.FloorDiv");
    test.Feed("by", Make<int64_t>({4, 1}, {3, -3, 7, -1}));
    ExpectSameOfDividends(test);
  }
}

// Extents are never negative, so their floor division is plain division in any spelling.
TEST(FloorDivisionTest, DivisionOfExtentsIsFolded) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"rows", 8});
    Value* extent = b.Op("Shape", {x}, {{"start", int64_t{1}}});
    Value* half = FloorDivided(b, extent, b.Constant<int64_t>("by", {}, {-2}));
    b.Output(b.Op("Reshape", {x, b.Op("Concat", {half, b.Constant<int64_t>("rest", {1}, {-1})},
                                      {{"axis", int64_t{0}}})}));
  });
  EXPECT_EQ(test.Count("Where") + test.Count("attnrun.FloorDiv"), 0);
}

// The quotient and the remainder are read off the extent of a tensor before the rule comes to them.
TEST(FloorDivisionTest, TheQuotientMayBeAnExtent) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"rows"});
    const auto ints = [&](int64_t number) { return b.Constant<int64_t>("n", {1}, {number}); };
    Value* fourth =
        b.Op("Slice", {x, ints(0), ints(std::numeric_limits<int64_t>::max()), ints(0), ints(4)});
    Value* length = b.Op("Add", {b.Op("Shape", {x}), ints(3)});
    Value* divided = FloorDivided(b, length, ints(4), Spelling::kTransformers);
    b.Output(
        b.Op("Mul", {fourth, b.Op("Expand", {b.Constant("one", Make<float>({}, {1})), divided})}));
  });
  EXPECT_EQ(test.Ops(), "Slice");
  for (const int64_t rows : {0, 3, 4, 9}) test.Dim("rows", rows).ExpectSameResults(0);
}

TEST(FloorDivisionTest, LeavesOtherSignsOfTheRemainder) {
  OptimizerTester other_sign([](GraphBuilder& b) {
    Value* x = Ints(b);
    Value* by = b.Constant<int64_t>("by", {}, {4});
    Value* zero = b.Constant<int64_t>("zero", {}, {0});
    Value* quotient = b.Op("Div", {x, by});
    Value* differ = b.Op("Xor", {b.Op("Less", {x, zero}), b.Constant("true", MakeBool({}, {1}))});
    Value* uneven = b.Op("Not", {b.Op("Equal", {b.Op("Mod", {x, by}), zero})});
    Value* less = b.Op("Sub", {quotient, b.Constant<int64_t>("one", {}, {1})});
    b.Output(b.Op("Neg", {b.Op("Where", {b.Op("And", {differ, uneven}), less, quotient})}));
  });
  EXPECT_EQ(other_sign.Count("attnrun.FloorDiv"), 0);
  // Equal with b < 0, where dynamo's exporter has b >= 0.
  OptimizerTester same_sign([](GraphBuilder& b) {
    Value* x = Ints(b);
    Value* by = b.Constant<int64_t>("by", {}, {4});
    Value* zero = b.Constant<int64_t>("zero", {}, {0});
    Value* alike = b.Op("Equal", {b.Op("Less", {x, zero}), b.Op("Less", {by, zero})});
    Value* uneven = b.Op("Not", {b.Op("Equal", {b.Op("Mod", {x, by}), zero})});
    Value* offset = b.Op("Cast", {b.Op("And", {alike, uneven})},
                         {{"to", static_cast<int64_t>(DataType::kInt64)}});
    b.Output(b.Op("Neg", {b.Op("Sub", {b.Op("Div", {x, by}), offset})}));
  });
  EXPECT_EQ(same_sign.Count("attnrun.FloorDiv"), 0);
  OptimizerTester truncated([](GraphBuilder& b) {
    Value* by = b.Constant<int64_t>("by", {}, {4});
    b.Output(b.Op("Neg", {FloorDivided(b, Ints(b), by, Spelling::kTorchScript, 1)}));
  });
  EXPECT_EQ(truncated.Count("attnrun.FloorDiv"), 0);
}

OptimizerTester DividedAsFloats(float divisor, DataType wide = DataType::kFloat) {
  return OptimizerTester([=](GraphBuilder& b) {
    const auto cast = [&](Value* value, DataType to) {
      return b.Op("Cast", {value}, {{"to", static_cast<int64_t>(to)}});
    };
    Value* by = b.Constant("by", Converted(Make<float>({}, {divisor}), wide));
    Value* quotient = b.Op("Floor", {b.Op("Div", {cast(Ints(b), wide), by})});
    b.Output(b.Op("Neg", {cast(quotient, DataType::kInt64)}));
  });
}

TEST(FloorDivisionTest, FusesDivisionOfFloats) {
  for (const float divisor : {3.0F, 4.0F, 320.0F}) {
    OptimizerTester test = DividedAsFloats(divisor);
    EXPECT_EQ(test.Ops(), "Neg attnrun.FloorDiv") << divisor;
    // For the largest integers that floats hold, the quotients are closest to whole numbers.
    const int64_t most = (1 << 24) - 1;
    const std::vector<int64_t> dividends = {0,  1,    2,        3,        -1,   -3,
                                            -4, most, most - 1, most - 2, -most};
    test.Dim("count", 11).Feed("x", Make<int64_t>({11}, dividends)).ExpectSameResults(0);
  }
}

TEST(FloorDivisionTest, LeavesFractionsNegativeDivisorsAndHalfPrecision) {
  for (const float divisor : {0.5F, 2.5F, 0.0F, -4.0F}) {
    EXPECT_EQ(DividedAsFloats(divisor).Count("attnrun.FloorDiv"), 0) << divisor;
  }
  EXPECT_EQ(DividedAsFloats(4, DataType::kFloat16).Count("attnrun.FloorDiv"), 0);
}

}  // namespace
}  // namespace attnrun::testing
