// SPDX-License-Identifier: Apache-2.0
#include "generation/guesses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "generation/fake_decoder.h"
#include "generation/scores.h"

namespace attnrun::gen {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LookUpTest, TakesWhatFollowedTheLongestMatch) {
  EXPECT_THAT(LookUp({1, 2, 3, 9, 2, 4, 1, 2}, 2, 3), ElementsAre(3, 9, 2));
  // The latest place of two.
  EXPECT_THAT(LookUp({1, 2, 3, 1, 2, 4, 1, 2}, 2, 2), ElementsAre(4, 1));
  // A shorter match where the longer one has none.
  EXPECT_THAT(LookUp({2, 5, 6, 1, 2}, 3, 2), ElementsAre(5, 6));
}

TEST(LookUpTest, GoesOnBehindTheEnd) {
  EXPECT_THAT(LookUp({7, 7, 7, 7}, 2, 3), ElementsAre(7, 7, 7));
  EXPECT_THAT(LookUp({3, 4, 3}, 1, 5), ElementsAre(4, 3, 4, 3, 4));
}

TEST(LookUpTest, GuessesNothingWithoutAnEarlierPlace) {
  EXPECT_THAT(LookUp({1, 2, 3}, 2, 4), IsEmpty());
  EXPECT_THAT(LookUp({1}, 2, 4), IsEmpty());
}

TEST(DraftTest, TakesTheMostProbableTokensOfEachRow) {
  const FakeDecoder decoder(23);
  const std::vector<TokenIds> sequences = {{4, 5, 6}, {9}};
  std::vector<TokenIds> guesses(2);
  std::vector<std::unique_ptr<Row>> drafts;
  std::vector<DraftedRow> rows;
  for (size_t i = 0; i < sequences.size(); ++i) {
    drafts.push_back(FakeDecoder::NewRow());
    rows.push_back({sequences[i], 3 - i, drafts[i].get(), &guesses[i]});
  }
  // A draft row may have read ids that have turned out wrong.
  drafts[0] = [] {
    auto row = std::make_unique<FakeRow>();
    row->read = {4, 5, 1, 2};
    return row;
  }();
  rows[0].draft = drafts[0].get();
  ASSERT_TRUE(Draft(decoder, rows, 23, {}).ok());
  for (size_t i = 0; i < sequences.size(); ++i) {
    TokenIds ids = sequences[i];
    ASSERT_EQ(guesses[i].size(), 3 - i);
    for (const int64_t guess : guesses[i]) {
      EXPECT_EQ(guess, static_cast<int64_t>(ArgMax(decoder.LogitsBehind(ids).values)));
      ids.push_back(guess);
    }
  }
  // Three ids that both share are not read again, nor is the last guess.
  EXPECT_EQ(decoder.ids_read, (1 + 2) + (1 + 1));
}

TEST(DraftTest, EndsAtATokenThatTheModelLacks) {
  FakeDecoder decoder(5);
  decoder.counts = true;
  const TokenIds ids = {1, 2};
  TokenIds guesses;
  const std::unique_ptr<Row> draft = FakeDecoder::NewRow();
  ASSERT_TRUE(Draft(decoder, {{ids, 6, draft.get(), &guesses}}, 4, {}).ok());
  EXPECT_THAT(guesses, ElementsAre(3));
}

}  // namespace
}  // namespace attnrun::gen
