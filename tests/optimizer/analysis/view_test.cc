// SPDX-License-Identifier: Apache-2.0
#include "optimizer/analysis/view.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace attnrun {
namespace {

const SymInt kBatch = SymInt::Symbol("batch");
const SymInt kSeq = SymInt::Symbol("seq");

opt::View Hidden() { return opt::View::Dense({kBatch, kSeq, 768}); }

TEST(ViewTest, SplittingAndMergingHeadsIsTheIdentity) {
  const auto heads = Hidden().Reshaped({kBatch, kSeq, 12, 64});
  ASSERT_TRUE(heads.has_value());
  const opt::View there = heads->Transposed({0, 2, 1, 3});
  EXPECT_NE(there, *heads);
  const auto back = there.Transposed({0, 2, 1, 3}).Reshaped({kBatch, kSeq, 768});
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(*back, Hidden());
}

TEST(ViewTest, TwoSpellingsOfOneSelectionAreEqual) {
  // K of a packed projection: a slice and a reshape, or a reshape to [.., 3, 12, 64] and an index.
  const opt::View packed = opt::View::Dense({kBatch, kSeq, 2304});
  const auto sliced = packed.Sliced(2, 768, 768)->Reshaped({kBatch, kSeq, 12, 64});
  const auto split = packed.Reshaped({kBatch, kSeq, 3, 12, 64});
  const auto indexed = split->Sliced(2, 1, 1)->Squeezed(2);
  ASSERT_TRUE(sliced.has_value() && indexed.has_value());
  EXPECT_EQ(*sliced, *indexed);
}

TEST(ViewTest, TransposedHeadsAreNotAMatrixOfRows) {
  const opt::View heads = Hidden().Reshaped({kBatch, kSeq, 12, 64})->Transposed({0, 2, 1, 3});
  EXPECT_FALSE(heads.Reshaped({kBatch, kSeq, 768}) == Hidden());
  EXPECT_TRUE(heads.Reshaped({kBatch * 12, kSeq, 64}).has_value());
  // The strides of positions and channels do not match, so merging them is not the dense order.
  EXPECT_FALSE(heads.Reshaped({kBatch, kSeq * 768}) == opt::View::Dense({kBatch, kSeq * 768}));
}

TEST(ViewTest, RepeatedHeadsAreAnAxisWithoutStride) {
  const opt::View kv = opt::View::Dense({kBatch, 2, kSeq, 8});
  const auto repeated =
      kv.Unsqueezed(2).Expanded({kBatch, 2, 4, kSeq, 8})->Reshaped({kBatch, 8, kSeq, 8});
  ASSERT_TRUE(repeated.has_value());
  EXPECT_EQ(repeated->Extent(1), SymInt(8));
  EXPECT_EQ(repeated->WithoutRepeats(1), kv);
}

// Repeated heads beside their channels are an axis of several factors, of which an index in general
// gives no view; one that counts through all of it does.
TEST(ViewTest, AnIndexThatCountsThroughAnAxisSplitsIt) {
  const opt::View kv = opt::View::Dense({kBatch, kSeq, 2, 8});
  const auto repeated = kv.Unsqueezed(3).Expanded({kBatch, kSeq, 2, 4, 8});
  const auto rows = repeated->Reshaped({kBatch, kSeq, 64});
  ASSERT_TRUE(rows.has_value());
  const opt::View all = opt::View::Dense({8, 8});
  EXPECT_EQ(rows->Gathered(2, {all}), repeated->Reshaped({kBatch, kSeq, 8, 8}));
  const opt::View some = opt::View::Counting(0, {8, 4}, {8, 1});
  EXPECT_FALSE(rows->Gathered(2, {some}).has_value());
  const opt::View shifted = opt::View::Counting(1, {8, 8}, {8, 1});
  EXPECT_FALSE(rows->Gathered(2, {shifted}).has_value());
}

TEST(ViewTest, AdjacentPiecesBecomeOnePiece) {
  const opt::View whole = opt::View::Dense({kSeq, 32});
  const std::vector<opt::View> pieces = {*whole.Sliced(1, 0, 8), *whole.Sliced(1, 8, 8),
                                         *whole.Sliced(1, 16, 8), *whole.Sliced(1, 24, 8)};
  EXPECT_EQ(opt::View::Concatenated(pieces, 1), whole);
  const std::vector<opt::View> uneven = {pieces[0], pieces[1], pieces[3]};
  EXPECT_FALSE(opt::View::Concatenated(uneven, 1).has_value());
}

TEST(ViewTest, PiecesOfOtherLengthsMayContinueEachOther) {
  const opt::View whole = opt::View::Dense({kBatch, 12, 64});
  const auto pieces = [&](const std::vector<std::pair<int64_t, int64_t>>& of) {
    std::vector<opt::View> views;
    for (const auto& [start, length] : of) views.push_back(*whole.Sliced(1, start, length));
    return views;
  };
  EXPECT_EQ(opt::View::Concatenated(pieces({{0, 1}, {1, 4}, {5, 7}}), 1), whole);
  EXPECT_EQ(opt::View::Concatenated(pieces({{2, 3}, {5, 1}}), 1), whole.Sliced(1, 2, 4));
  EXPECT_FALSE(opt::View::Concatenated(pieces({{0, 1}, {2, 10}}), 1).has_value());
  EXPECT_FALSE(opt::View::Concatenated(pieces({{1, 11}, {0, 1}}), 1).has_value());
}

TEST(ViewTest, SlicesAcrossBlocksAreNotAView) {
  const opt::View heads = Hidden().Reshaped({kBatch, kSeq, 12, 64})->Transposed({0, 1, 3, 2});
  const auto flat = heads.Reshaped({kBatch, kSeq, 768});
  ASSERT_TRUE(flat.has_value());
  EXPECT_TRUE(flat->Sliced(2, 12, 24).has_value());
  EXPECT_TRUE(flat->Sliced(2, 3, 5).has_value());
  EXPECT_FALSE(flat->Sliced(2, 6, 12).has_value());
}

}  // namespace
}  // namespace attnrun
