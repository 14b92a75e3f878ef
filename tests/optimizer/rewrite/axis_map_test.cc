// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rewrite/axis_map.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace attnrun {
namespace {

const SymInt kBatch = SymInt::Symbol("batch");
const SymInt kSeq = SymInt::Symbol("seq");
constexpr int kHeads = 12;

opt::View Scores() { return opt::View::Dense({kBatch, kHeads, kSeq, kSeq}); }

// The map from `from` to `to`, which has one.
opt::AxisMap MapOf(const opt::View& from, const opt::View& to) {
  return opt::AxisMap::Between(from.axes(), to.axes()).value();
}

TEST(AxisMapTest, UndoesAnyRearrangement) {
  const opt::View folded = *Scores().Reshaped({kBatch * kHeads, kSeq, kSeq});
  for (const opt::View& view :
       {Scores().Transposed({0, 2, 1, 3}), folded, folded.Transposed({2, 0, 1}),
        *Scores().Transposed({0, 2, 1, 3}).Reshaped({kBatch * kSeq, kHeads * kSeq})}) {
    const auto back = MapOf(view, Scores()).Apply(opt::View::Dense(view.Dims()));
    ASSERT_TRUE(back.has_value()) << view.ToString();
    EXPECT_EQ(MapOf(*back, opt::View::Dense(view.Dims())).Apply(Scores()), view);
  }
}

TEST(AxisMapTest, KeepsTheLastAxes) {
  const opt::View rows = opt::View::Dense({kBatch, kSeq, kHeads, 64});
  const opt::View order = opt::View::Dense({kBatch, kSeq, kHeads});
  const auto heads = MapOf(order, order.Transposed({0, 2, 1})).Apply(rows, 1);
  EXPECT_EQ(heads, rows.Transposed({0, 2, 1, 3}));
}

TEST(AxisMapTest, AxesOfExtent1Broadcast) {
  const opt::View by_query = Scores().Transposed({0, 2, 1, 3});
  const auto extents = MapOf(by_query, Scores()).Extents(std::vector<SymInt>{kSeq, 1, kSeq});
  EXPECT_EQ(extents, (std::vector<SymInt>{1, 1, kSeq, kSeq}));
  // A part of a joined axis cannot be left to broadcast.
  const opt::View folded = *Scores().Reshaped({kBatch * kHeads, kSeq, kSeq});
  const auto joined = MapOf(Scores(), folded).Extents(std::vector<SymInt>{kBatch, 1, 1, kSeq});
  EXPECT_EQ(joined, (std::vector<SymInt>{kBatch * kHeads, 1, kSeq}));
}

TEST(AxisMapTest, AnExtentMayHaveAnotherName) {
  const SymInt other = SymInt::Symbol("other");
  const opt::View by_query = Scores().Transposed({0, 2, 1, 3});
  const auto extents =
      MapOf(by_query, Scores()).Extents(std::vector<SymInt>{other, kSeq, kHeads, kSeq});
  EXPECT_EQ(extents, (std::vector<SymInt>{other, kHeads, kSeq, kSeq}));
  // It may not be a name for a number: there might be 1 of it in a run.
  const std::vector<SymInt> named = {kBatch, kSeq, other, kSeq};
  EXPECT_FALSE(MapOf(by_query, Scores()).Extents(named).has_value());
  EXPECT_FALSE(MapOf(by_query, Scores()).Apply(opt::View::Dense(named)).has_value());
}

TEST(AxisMapTest, AnAxisThatIsSplitOrJoinedHasItsOwnExtent) {
  const SymInt other = SymInt::Symbol("other");
  const opt::View folded = *Scores().Reshaped({kBatch * kHeads, kSeq, kSeq});
  const opt::View grouped = *Scores().Reshaped({kBatch, 4, 3, kSeq, kSeq});
  for (const auto& [from, to, dims] :
       {std::tuple(folded, Scores(), std::vector<SymInt>{other, kSeq, kSeq}),
        std::tuple(Scores(), folded, std::vector<SymInt>{other, kHeads, kSeq, kSeq}),
        std::tuple(Scores(), grouped, std::vector<SymInt>{kBatch, other, kSeq, kSeq})}) {
    EXPECT_FALSE(MapOf(from, to).Extents(dims).has_value()) << to.ToString();
  }
}

TEST(AxisMapTest, PartsThatDoNotFitHaveNoMap) {
  const opt::View six = opt::View::Dense({6, 4});
  const opt::View four = opt::View::Dense({4, 6});
  EXPECT_FALSE(opt::AxisMap::Between(six.axes(), four.axes()).has_value());
  const opt::View repeated = *opt::View::Dense({1, 4}).Expanded({6, 4});
  EXPECT_FALSE(opt::AxisMap::Between(six.axes(), repeated.axes()).has_value());
  // More elements than the axes have.
  EXPECT_FALSE(MapOf(six, six).Extents(std::vector<SymInt>{2, 6, 4}).has_value());
}

}  // namespace
}  // namespace attnrun
