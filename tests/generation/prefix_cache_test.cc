// SPDX-License-Identifier: Apache-2.0
#include "generation/prefix_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "generation/fake_decoder.h"

namespace attnrun::gen {
namespace {

// A row takes ten bytes for each id.
std::unique_ptr<Row> RowOf(const TokenIds& ids, bool rewinds = true) {
  auto row = std::make_unique<FakeRow>();
  row->read = ids;
  row->rewinds = rewinds;
  return row;
}

TokenIds Found(PrefixCache& cache, const TokenIds& ids) {
  const Row* row = cache.Find(ids);
  return row == nullptr ? TokenIds{} : row->ids();
}

TEST(PrefixCacheTest, FindsTheLongestPrefix) {
  PrefixCache cache(1000);
  cache.Insert(RowOf({1, 2, 3, 4}));
  cache.Insert(RowOf({1, 2, 5}));
  EXPECT_EQ(Found(cache, {1, 2, 3, 9}), TokenIds({1, 2, 3, 4}));
  EXPECT_EQ(Found(cache, {1, 2, 5, 6}), TokenIds({1, 2, 5}));
  EXPECT_EQ(Found(cache, {2, 1}), TokenIds());
  EXPECT_EQ(SharedPrefix(*RowOf({1, 2, 3, 4}), {1, 2, 3, 9}), 3);
}

TEST(PrefixCacheTest, WithoutRewindingOnlyWholeRowsCount) {
  EXPECT_EQ(SharedPrefix(*RowOf({1, 2, 3}, false), {1, 2, 9}), 0);
  EXPECT_EQ(SharedPrefix(*RowOf({1, 2, 3}, false), {1, 2, 3, 9}), 3);
  PrefixCache cache(1000);
  cache.Insert(RowOf({1, 2}, false));
  cache.Insert(RowOf({1, 2, 3}, false));
  EXPECT_EQ(Found(cache, {1, 2, 9}), TokenIds({1, 2}));
}

TEST(PrefixCacheTest, ARowThatReadsItsPromptWholeServesNoOther) {
  auto row = std::make_unique<FakeRow>();
  row->read = {1, 2, 3};
  row->whole = true;
  EXPECT_EQ(SharedPrefix(*row, {1, 2, 3, 9}), 0);
  PrefixCache cache(1000);
  cache.Insert(std::move(row));
  EXPECT_EQ(cache.byte_size(), 0u);
}

TEST(PrefixCacheTest, TheRowThatWasLeastRecentlyUsedMakesPlace) {
  PrefixCache cache(60);
  cache.Insert(RowOf({1, 2}));
  cache.Insert(RowOf({3, 4}));
  EXPECT_EQ(Found(cache, {1, 2, 9}), TokenIds({1, 2}));
  cache.Insert(RowOf({5, 6, 7}));
  EXPECT_EQ(Found(cache, {3, 4}), TokenIds());
  EXPECT_EQ(Found(cache, {1, 2}), TokenIds({1, 2}));
  EXPECT_EQ(cache.byte_size(), 50u);
}

TEST(PrefixCacheTest, KeepsNoRowTwiceAndNoneThatIsTooLarge) {
  PrefixCache cache(60);
  cache.Insert(RowOf({1, 2}));
  cache.Insert(RowOf({1, 2, 3}));
  EXPECT_EQ(cache.byte_size(), 30u);
  cache.Insert(RowOf({1}));
  EXPECT_EQ(cache.byte_size(), 30u);
  cache.Insert(RowOf({1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(Found(cache, {1, 2, 3, 4}), TokenIds({1, 2, 3}));
}

}  // namespace
}  // namespace attnrun::gen
