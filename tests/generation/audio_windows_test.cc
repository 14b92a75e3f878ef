// SPDX-License-Identifier: Apache-2.0
#include "generation/audio_windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnrun::gen {
namespace {

using ::testing::ElementsAre;

// The tokens that stay and the frames that are read of a window of 100, where timestamps begin
// with 50.
std::pair<int64_t, int64_t> End(const TokenIds& tokens) {
  const WindowEnd end = EndOfWindow(tokens, 50, 100);
  return {end.tokens, end.frames};
}

// Values by transformers' WhisperForConditionalGeneration._retrieve_segment.
TEST(EndOfWindowTest, IsAtTheLastOfTwoTimestamps) {
  EXPECT_EQ(End({}), std::pair(0L, 100L));
  EXPECT_EQ(End({1, 2}), std::pair(2L, 100L));
  EXPECT_EQ(End({50, 1, 60}), std::pair(3L, 100L));
  EXPECT_EQ(End({50, 1, 60, 60, 2, 3}), std::pair(4L, 20L));
  EXPECT_EQ(End({50, 1, 60, 61, 2, 70, 70}), std::pair(7L, 40L));
  EXPECT_EQ(End({50, 1, 60, 60, 2, 70}), std::pair(6L, 100L));
  // Three timestamps are two pairs.
  EXPECT_EQ(End({50, 60, 70, 1}), std::pair(3L, 20L));
  // No speech is read, and another window would be the same.
  EXPECT_EQ(End({50, 50, 1}), std::pair(2L, 100L));
}

TEST(EndOfWindowTest, NeedsTimestamps) {
  EXPECT_EQ(EndOfWindow({50, 1, 60, 60, 2, 3}, std::nullopt, 100).tokens, 6);
}

TEST(AppendWindowTest, KeepsTheStopTokenOfTheLast) {
  GenerationConfig config;
  config.no_timestamps_token_id = 49;
  config.eos_token_id = {9};
  GeneratedSequence window;
  window.tokens = {50, 1, 60, 60, 2, 9};
  window.finish = FinishReason::kStop;
  window.score = -2;
  GeneratedSequence whole;
  EXPECT_EQ(AppendWindow(window, config, 100, 150, whole), 20);
  EXPECT_THAT(whole.tokens, ElementsAre(50, 1, 60, 60));
  EXPECT_EQ(AppendWindow(window, config, 20, 20, whole), 20);
  EXPECT_THAT(whole.tokens, ElementsAre(50, 1, 60, 60, 50, 1, 60, 60, 9));
  EXPECT_EQ(whole.finish, FinishReason::kStop);
  EXPECT_EQ(whole.score, -4);
}

}  // namespace
}  // namespace attnrun::gen
