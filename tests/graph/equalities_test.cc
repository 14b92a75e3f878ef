// SPDX-License-Identifier: Apache-2.0
#include "graph/equalities.h"

#include <gtest/gtest.h>

namespace attnrun {
namespace {

const SymInt kBatch = SymInt::Symbol("batch");
const SymInt kMemory = SymInt::Symbol("memory");
const SymInt kSide = SymInt::Symbol("side");

TEST(EqualitiesTest, TwoNamesBecomeOne) {
  Equalities known;
  EXPECT_TRUE(known.Add(kMemory * kSide * 32, kBatch * kSide * 32, "node 'r' (Reshape)"));
  EXPECT_EQ(known.Reduced(kMemory * 4 + kSide), kBatch * 4 + kSide);
  EXPECT_EQ(known.Reduced(kMemory * kMemory), kBatch * kBatch);
  ASSERT_EQ(known.list().size(), 1U);
  EXPECT_EQ(known.list()[0].a.ToString() + " = " + known.list()[0].b.ToString(), "memory = batch");
  EXPECT_EQ(known.list()[0].node, "node 'r' (Reshape)");
  // It says nothing new.
  EXPECT_FALSE(known.Add(kBatch + 1, kMemory + 1, ""));
}

TEST(EqualitiesTest, AnExactQuotientTimesItsDivisorIsTheWhole) {
  const SymInt patches = SymInt::Quotient(kSide, 8);
  Equalities known;
  EXPECT_TRUE(known.Add(patches * 8, kSide, ""));
  EXPECT_EQ(known.Reduced(patches * 16 * kBatch), kSide * kBatch * 2);
  EXPECT_EQ(known.Reduced(patches * 4), patches * 4);
}

// The windows of an image that is padded to whole ones, as Swin counts them.
TEST(EqualitiesTest, ProductsOfQuotientsBecomeMultiplesOfOthers) {
  const SymInt windows = SymInt::Quotient(kSide + 6, 8) * SymInt::Quotient(kMemory + 6, 8);
  const SymInt patches = SymInt::Quotient(kSide, 2) * SymInt::Quotient(kMemory, 2);
  for (const bool first : {false, true}) {
    Equalities known;
    EXPECT_TRUE(first ? known.Add(windows * 16, patches, "")
                      : known.Add(patches, windows * 16, ""));
    EXPECT_EQ(known.Reduced(patches * kBatch), windows * kBatch * 16);
    EXPECT_EQ(known.Reduced(windows * kBatch), windows * kBatch);
  }
}

TEST(EqualitiesTest, ProductsOfQuotientsBecomeNumbers) {
  const SymInt rows = SymInt::Quotient(kSide, 8);
  const SymInt columns = SymInt::Quotient(kMemory, 8);
  Equalities known;
  EXPECT_TRUE(known.Add(rows * columns + 1, 17, ""));
  EXPECT_EQ(known.Reduced(rows * columns * kBatch + 5 * rows), kBatch * 16 + rows * 5);
}

// Scores of `keys` columns, to which a bias and then a mask are added, before a product with `keys`
// rows: the bias has as many columns or one.
TEST(EqualitiesTest, AnOperandOfABroadcastToItselfStays) {
  const SymInt keys = kBatch + kMemory;
  const SymInt biased = SymInt::Opaque("broadcast", keys, kSide);
  const SymInt masked = SymInt::Opaque("broadcast", biased, SymInt::Opaque("min", kSide, keys));
  for (const bool first : {false, true}) {
    Equalities known;
    EXPECT_TRUE(first ? known.Add(masked, keys, "") : known.Add(keys, masked, ""));
    EXPECT_EQ(known.Reduced(biased * 4), keys * 4);
  }
  // Other operands may be anything.
  Equalities known;
  const SymInt other = SymInt::Opaque("broadcast", kSide, kMemory);
  EXPECT_TRUE(known.Add(SymInt::Opaque("broadcast", other, kBatch), kBatch, ""));
  EXPECT_EQ(known.Reduced(other), other);
}

TEST(EqualitiesTest, ChainsAreFollowedToTheEnd) {
  Equalities known;
  EXPECT_TRUE(known.Add(kSide, kMemory, ""));
  EXPECT_TRUE(known.Add(kMemory, kBatch, ""));
  EXPECT_EQ(known.Reduced(kSide), kBatch);
  EXPECT_FALSE(known.Add(kSide, kBatch, ""));
}

TEST(EqualitiesTest, IgnoresWhatInputsCannotDecide) {
  Equalities known;
  EXPECT_FALSE(known.Add(SymInt::Unknown(), kBatch, ""));
  EXPECT_FALSE(known.Add(SymInt::Opaque("slice", kBatch, kMemory), kBatch, ""));
  // No run has these.
  EXPECT_FALSE(known.Add(kBatch + 1, kBatch, ""));
  EXPECT_FALSE(known.Add(kBatch + kMemory, 0, ""));
  EXPECT_TRUE(known.empty());
}

TEST(EqualitiesTest, ComesToAnEnd) {
  Equalities known;
  for (int i = 0; i < 100; ++i) {
    const SymInt symbol = SymInt::Symbol("s" + std::to_string(i));
    known.Add(symbol * symbol, SymInt::Symbol("s" + std::to_string(i + 1)) * symbol + 1, "");
  }
  EXPECT_LE(known.list().size(), 32U);
  EXPECT_FALSE(known.Reduced(SymInt::Symbol("s0") * SymInt::Symbol("s1")).HasUnknown());
}

}  // namespace
}  // namespace attnrun
