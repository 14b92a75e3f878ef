// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/attention/head_views.h"

#include <gtest/gtest.h>

#include <vector>

namespace attnrun {
namespace {

const SymInt kSeq = SymInt::Symbol("seq");

// The layout of heads [n, s, h] of one sample; "none" if there is none.
std::string LayoutOfHeads(const opt::View& heads, const std::vector<SymInt>& base) {
  const opt::View ordered = heads.Unsqueezed(0).Transposed({0, 2, 1, 3});
  const auto layout = opt::LayoutOf(ordered, base);
  return layout.has_value() ? layout->ToString() : "none";
}

// Batch and heads folded, [2 * 4, seq, 8], and two of them: samples and heads follow from the
// offset, although 48*seq is no multiple of the 32*seq from sample to sample.
TEST(HeadViewsTest, TwoHeadsOfASampleHaveALayout) {
  const std::vector<SymInt> base = {2, 4, kSeq, 8};
  const auto folded = opt::View::Dense(base).Reshaped({8, kSeq, 8});
  ASSERT_TRUE(folded.has_value());
  const auto of = [&](int64_t first) { return LayoutOfHeads(*folded->Sliced(0, first, 2), base); };
  EXPECT_EQ(of(0), "() (n:2) s h");
  EXPECT_EQ(of(2), "() 2+(n:2) s h");
  EXPECT_EQ(of(4), "1+() (n:2) s h");
  EXPECT_EQ(of(6), "1+() 2+(n:2) s h");
}

// The last of the first sample and the first of the second one.
TEST(HeadViewsTest, HeadsOfTwoSamplesHaveNone) {
  const std::vector<SymInt> base = {2, 4, kSeq, 8};
  const auto folded = opt::View::Dense(base).Reshaped({8, kSeq, 8});
  ASSERT_TRUE(folded.has_value());
  EXPECT_EQ(LayoutOfHeads(*folded->Sliced(0, 3, 2), base), "none");
}

// Rows from the second one on, up to the first of the next head.
TEST(HeadViewsTest, PositionsOfTwoHeadsHaveNone) {
  const std::vector<SymInt> base = {4, kSeq, 8};
  const auto folded = opt::View::Dense(base).Reshaped({kSeq * 4, 8});
  ASSERT_TRUE(folded.has_value());
  const auto rows = folded->Sliced(0, 1, kSeq);
  EXPECT_EQ(LayoutOfHeads(rows->Unsqueezed(0), base), "none");
  EXPECT_EQ(LayoutOfHeads(folded->Sliced(0, 0, kSeq)->Unsqueezed(0), base), "() s h");
}

}  // namespace
}  // namespace attnrun
