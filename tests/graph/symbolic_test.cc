#include "graph/symbolic.h"

#include <gtest/gtest.h>

#include <limits>

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

TEST(SymIntTest, DividesOnlyWhatIsPlainlyDivisible) {
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

TEST(SymIntTest, WhatAFileMakesGrowWithoutBoundIsUnknown) {
  SymInt square = SymInt::Symbol("batch");
  SymInt opaque = SymInt::Symbol("seq");
  for (int i = 0; i < 100; ++i) {
    square = square * square;
    opaque = SymInt::Opaque("div", opaque, opaque + 1);
  }
  EXPECT_LT(square.ToString().size(), 1000U);
  EXPECT_LT(opaque.ToString().size(), 1000U);
}

TEST(SymIntTest, OverflowBecomesUnknown) {
  const SymInt big(std::numeric_limits<int64_t>::max());
  EXPECT_FALSE((big * 2).constant().has_value());
  EXPECT_FALSE((big + 1).constant().has_value());
  EXPECT_NE(SymInt::Unknown(), SymInt::Unknown());
}

}  // namespace
}  // namespace attnrun
