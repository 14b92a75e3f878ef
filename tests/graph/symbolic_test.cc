// SPDX-License-Identifier: Apache-2.0
#include "graph/symbolic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace attnrun {
namespace {

TEST(SymIntTest, NormalFormDecidesEquality) {
  const SymInt batch = SymInt::Symbol("batch");
  const SymInt seq = SymInt::Symbol("seq");
  EXPECT_EQ((batch + seq) * (batch - seq), batch * batch - seq * seq);
  EXPECT_EQ(batch * seq * 12, SymInt(4) * seq * 3 * batch);
  EXPECT_NE(batch, seq);
  EXPECT_EQ((batch - batch).constant(), 0);
  EXPECT_EQ((batch * 4 + seq).ToString(), "4*batch+seq");
}

TEST(SymIntTest, DividesOnlyExactMultiples) {
  const SymInt batch = SymInt::Symbol("batch");
  const SymInt seq = SymInt::Symbol("seq");
  EXPECT_EQ(SymInt::DivideExactly(batch * seq * 768, seq * 64), batch * 12);
  EXPECT_EQ(SymInt::DivideExactly(batch + seq, batch + seq), SymInt(1));
  EXPECT_EQ(SymInt::DivideExactly(batch * 3, SymInt(2)), std::nullopt);
  EXPECT_EQ(SymInt::DivideExactly(batch, seq), std::nullopt);
  EXPECT_EQ(SymInt::DivideExactly(batch, SymInt(0)), std::nullopt);
}

TEST(SymIntTest, DividesBySums) {
  const SymInt batch = SymInt::Symbol("batch");
  const SymInt past = SymInt::Symbol("past");
  const SymInt seq = SymInt::Symbol("seq");
  EXPECT_EQ(SymInt::DivideExactly(batch * (past + seq) * 64, past + seq), batch * 64);
  EXPECT_EQ(SymInt::DivideExactly((past + seq) * (past - seq), past - seq), past + seq);
  EXPECT_EQ(SymInt::DivideExactly(past + seq + 1, past + seq), std::nullopt);
}

TEST(SymIntTest, ExpressionsThatGrowWithoutBoundBecomeUnknown) {
  SymInt square = SymInt::Symbol("batch");
  SymInt opaque = SymInt::Symbol("seq");
  for (int i = 0; i < 100; ++i) {
    square = square * square;
    opaque = SymInt::Opaque("div", opaque, opaque + 1);
  }
  EXPECT_LT(square.ToString().size(), 1000U);
  EXPECT_LT(opaque.ToString().size(), 1000U);
}

TEST(SymIntTest, ReturnsTheOperandsOfAFunction) {
  const SymInt past = SymInt::Symbol("past");
  const SymInt cut = SymInt::Opaque("min", 2, past - 1);
  ASSERT_TRUE(cut.OperandsOf("min").has_value());
  EXPECT_EQ(cut.OperandsOf("min")->first, 2);
  EXPECT_EQ(cut.OperandsOf("min")->second, past - 1);
  EXPECT_FALSE(cut.OperandsOf("max").has_value());
  EXPECT_FALSE((cut + 1).OperandsOf("min").has_value());
  EXPECT_FALSE((cut * 2).OperandsOf("min").has_value());
  EXPECT_FALSE((cut * past).OperandsOf("min").has_value());
  EXPECT_FALSE(SymInt::Symbol("min(2,past)").OperandsOf("min").has_value());
}

TEST(SymIntTest, DistinguishesExtentsFunctionsAndUnknowns) {
  const SymInt past = SymInt::Symbol("past");
  const SymInt half = SymInt::Opaque("div", past, 2);
  EXPECT_TRUE((past * past + 1).IsOfExtents());
  EXPECT_TRUE(SymInt::Symbol("?f(x)").IsOfExtents());
  EXPECT_FALSE((past + half).IsOfExtents());
  EXPECT_FALSE(half.HasUnknown());
  EXPECT_TRUE(SymInt::Opaque("div", past, half + SymInt::Unknown()).HasUnknown());
  EXPECT_FALSE(SymInt::Unknown().IsOfExtents());
}

TEST(SymIntTest, NamesThatReadLikeFormulasStaySymbols) {
  const SymInt past = SymInt::Symbol("past");
  EXPECT_NE(SymInt::Symbol("past+1"), past + 1);
  EXPECT_NE(SymInt::Symbol("past+1").ToString(), (past + 1).ToString());
  EXPECT_NE(SymInt::Symbol("7").ToString(), "7");
  EXPECT_EQ(SymInt::Symbol("7+past").constant_term(), 0);
  EXPECT_TRUE(SymInt::Symbol("?past-1").IsNeverNegative());
  EXPECT_NE(SymInt::Symbol("min(2,past)"), SymInt::Opaque("min", 2, past));
}

TEST(SymIntTest, NestedQuotientsBecomeOne) {
  const SymInt samples = SymInt::Symbol("samples");
  const auto halved = [](const SymInt& x) { return SymInt::Quotient(x, 2); };
  EXPECT_EQ(halved(halved(SymInt::Quotient(samples, 5))), SymInt::Quotient(samples, 20));
  // A numerator that may be negative is divided towards zero.
  EXPECT_EQ(halved(SymInt::Quotient(samples - 3, 5)), SymInt::Quotient(samples - 3, 10));
  EXPECT_FALSE(halved(SymInt::Quotient(samples - 3, 5)).IsNeverNegative());
  EXPECT_EQ(SymInt::Quotient(samples * 6, 3), samples * 2);
  // (x/5 + 1)/2 differs from x/10, x/(5*y) has no constant divisor, and a symbol that the file
  // names "div(samples,5)" is no quotient.
  EXPECT_NE(halved(SymInt::Quotient(samples, 5) + 1), SymInt::Quotient(samples, 10) + 1);
  EXPECT_NE(halved(SymInt::Quotient(samples, 5) * 3), SymInt::Quotient(samples, 10) * 3);
  const SymInt by_symbol = SymInt::Quotient(samples, SymInt::Symbol("y"));
  EXPECT_EQ(halved(by_symbol), SymInt::Opaque("div", by_symbol, 2));
  EXPECT_EQ(SymInt::Quotient(SymInt::Quotient(samples, -5), 2).ToString(),
            "?div(?div(samples,-5),2)");
  const SymInt named = SymInt::Symbol("div(samples,5)");
  EXPECT_EQ(halved(named), SymInt::Opaque("div", named, 2));
}

TEST(SymIntTest, FloorQuotientsHaveOneForm) {
  const SymInt x = SymInt::Symbol("x");
  const SymInt y = SymInt::Symbol("y");
  const auto floor = [](const SymInt& a, int64_t b) { return SymInt::FloorQuotient(a, b); };
  EXPECT_EQ(floor(x * 8 + y + 11, 4).ToString(), "2+div(3+y,4)+2*x");
  EXPECT_EQ(floor(x - 8, 4), SymInt::Quotient(x, 4) - 2);
  // Windows of windows: the frames of a speech encoder are those of one wider window.
  EXPECT_EQ(floor(floor(floor(x - 127, 64) - 6, 3) - 2, 2), floor(x - 127, 384) - 2);
  // Rounded up, as -(-x // 8) and as (x + 7) // 8.
  EXPECT_EQ(SymInt(0) - floor(SymInt(0) - x, 8), floor(x + 7, 8));
  EXPECT_EQ(floor(y * 8 - x, 8), y - floor(x + 7, 8));
  EXPECT_EQ(floor(x * 6 + 5, 9), floor(x * 2 + 1, 3));
  EXPECT_EQ(floor(x - y, 4).ToString(), "?floordiv(x+-1*y,4)");
}

// Swin's images, padded to an even size and halved, and then padded to windows.
TEST(SymIntTest, AQuotientLessItsHalfIsTheHalfRoundedUp) {
  const SymInt x = SymInt::Symbol("x");
  const auto floor = [](const SymInt& a, int64_t b) { return SymInt::FloorQuotient(a, b); };
  const SymInt size = floor(x, 4);
  const SymInt even = size * 2 - floor(size, 2) * 2;
  const SymInt half = floor(even, 2);
  EXPECT_EQ(half.ToString(), "div(4+x,8)");
  EXPECT_EQ(floor(even + 1, 2), half);
  EXPECT_EQ(floor(even * 3 + 5, 6), half);
  EXPECT_EQ(floor(half + 3, 4).ToString(), "div(28+x,32)");
  EXPECT_EQ(SymInt(0) - floor(SymInt(0) - even, 8), floor(even + 7, 8));
  // Other multiples than one and its negative are no half.
  EXPECT_EQ(floor(size * 2 - floor(size, 2), 3).ToString(), "?floordiv(2*div(x,4)+-1*div(x,8),3)");
  for (int64_t at = 0; at < 40; ++at) {
    const auto extent = [&](const std::string&) { return at; };
    EXPECT_EQ(half.ValueAt(extent), (at / 4 + 1) / 2);
    EXPECT_EQ(floor(even - 9, 4).ValueAt(extent), ((at / 4 + 1) / 2 * 2 - 9 + 12) / 4 - 3);
  }
}

TEST(SymIntTest, CommonFactorsOfAQuotientCancel) {
  const SymInt x = SymInt::Symbol("x");
  const SymInt y = SymInt::Symbol("y");
  EXPECT_EQ(SymInt::Quotient(x * y * 6, y * 4), SymInt::Quotient(x * 3, 2));
  EXPECT_EQ(SymInt::Quotient((x - 3) * 4, 8), SymInt::Quotient(x - 3, 2));
  EXPECT_EQ(SymInt::Quotient(0, y), SymInt(0));
}

TEST(SymIntTest, QuotientsHaveTheValuesOfIntegerDivision) {
  const SymInt x = SymInt::Symbol("x");
  const SymInt y = SymInt::Symbol("y");
  const auto floored = [](int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); };
  for (int64_t at_x = 0; at_x < 7; ++at_x) {
    for (int64_t at_y = 0; at_y < 7; ++at_y) {
      const auto extent = [&](const std::string& name) { return name == "x" ? at_x : at_y; };
      for (const auto& [c, d, e] : {std::tuple(1, 0, 0),
                                    {1, 0, -7},
                                    {-1, 0, 3},
                                    {3, 5, 2},
                                    {2, -4, 1},
                                    {-6, -2, 9},
                                    {4, 8, -3}}) {
        const int64_t a = c * at_x + d * at_y + e;
        const SymInt formula = x * c + y * d + e;
        for (const int64_t b : {1, 2, 3, 4, 6}) {
          const SymInt once = SymInt::FloorQuotient(formula, b);
          EXPECT_EQ(once.ValueAt(extent), floored(a, b)) << once.ToString();
          const SymInt twice = SymInt::FloorQuotient(once * 2 - x + 1, 3);
          EXPECT_EQ(twice.ValueAt(extent), floored(floored(a, b) * 2 - at_x + 1, 3));
          EXPECT_EQ(SymInt::Quotient(formula, b).ValueAt(extent), a / b);
        }
      }
    }
  }
}

TEST(SymIntTest, HasNoValueWhereSomethingIsMissing) {
  const SymInt x = SymInt::Symbol("x");
  const auto none = [](const std::string&) { return std::optional<int64_t>(); };
  const auto large = [](const std::string&) { return int64_t{1} << 40; };
  EXPECT_EQ((x + 1).ValueAt(none), std::nullopt);
  EXPECT_EQ(SymInt(7).ValueAt(none), 7);
  EXPECT_EQ((x * x).ValueAt(large), std::nullopt);
  EXPECT_EQ(SymInt::Unknown().ValueAt(large), std::nullopt);
  EXPECT_EQ(SymInt::Quotient(x, x - (int64_t{1} << 40)).ValueAt(large), std::nullopt);
  EXPECT_FALSE(SymInt::Opaque("slice", x, 1).IsComputable());
  EXPECT_TRUE(SymInt::Opaque("min", x, 1).IsComputable());
}

TEST(SymIntTest, ReturnsTermsAndSign) {
  const SymInt batch = SymInt::Symbol("batch");
  const SymInt seq = SymInt::Symbol("seq");
  const SymInt sum = batch * seq * 4 + seq + 3;
  EXPECT_EQ(sum.constant_term(), 3);
  EXPECT_THAT(sum.Terms(), ::testing::UnorderedElementsAre(SymInt(3), batch * seq * 4, seq));
  EXPECT_THAT(SymInt(0).Terms(), ::testing::IsEmpty());
  EXPECT_TRUE(sum.IsNeverNegative());
  EXPECT_FALSE((sum - 4).IsNeverNegative());
  EXPECT_FALSE((batch - seq).IsNeverNegative());
  EXPECT_TRUE(SymInt::Opaque("min", batch, seq).IsNeverNegative());
  EXPECT_FALSE(SymInt::Opaque("min", batch, seq - 1).IsNeverNegative());
  EXPECT_FALSE((batch + SymInt::Unknown()).IsNeverNegative());
}

TEST(SymIntTest, IsAtLeastSaysWhatTheDifferenceSays) {
  const SymInt batch = SymInt::Symbol("batch");
  const SymInt seq = SymInt::Symbol("seq");
  const SymInt below = SymInt::Opaque("min", batch, seq - 1);
  const std::vector<SymInt> parts = {1, batch, seq, batch * seq, below, SymInt::Unknown()};
  std::mt19937 generator(5);
  std::uniform_int_distribution<int64_t> coefficient(-1, 2);
  int holds = 0;
  for (int i = 0; i < 20000; ++i) {
    SymInt a;
    SymInt b;
    for (const SymInt& part : parts) {
      a = a + part * coefficient(generator);
      b = b + part * coefficient(generator);
    }
    for (const int64_t times : {1, 2}) {
      const bool expected = (a - b * times).IsNeverNegative();
      holds += expected ? 1 : 0;
      ASSERT_EQ(SymInt::IsAtLeast(a, b, times), expected) << a.ToString() << " " << b.ToString();
    }
  }
  EXPECT_GT(holds, 100);
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  EXPECT_FALSE(SymInt::IsAtLeast(batch, kLeast, 2));
}

TEST(SymIntTest, OverflowBecomesUnknown) {
  const SymInt big(std::numeric_limits<int64_t>::max());
  EXPECT_FALSE((big * 2).constant().has_value());
  EXPECT_FALSE((big + 1).constant().has_value());
  EXPECT_NE(SymInt::Unknown(), SymInt::Unknown());
}

}  // namespace
}  // namespace attnrun
