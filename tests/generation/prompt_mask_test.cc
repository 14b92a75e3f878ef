// SPDX-License-Identifier: Apache-2.0
#include "generation/prompt_mask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnrun::gen {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PromptMaskTest, HidesPadsThatDoNotStop) {
  GenerationConfig config;
  EXPECT_THAT(MaskOfPads({{4, 3}}, config), IsEmpty());
  config.pad_token_id = 4;
  EXPECT_THAT(MaskOfPads({{5, 3}}, config), IsEmpty());
  EXPECT_THAT(MaskOfPads({{4, 3, 4}}, config), ElementsAre(0, 1, 0));
  config.eos_token_id = {2, 4};
  EXPECT_THAT(MaskOfPads({{4, 3}}, config), IsEmpty());
}

TEST(PromptMaskTest, CountsPositionsFromAnyOnAndBehindItsEnd) {
  EXPECT_THAT(MaskedPositions(2, 3, {}), ElementsAre(2, 3, 4));
  const PromptMask mask = {0, 1, 0, 1};
  EXPECT_THAT(MaskedPositions(0, 6, mask), ElementsAre(0, 0, 0, 1, 2, 3));
  EXPECT_THAT(MaskedPositions(3, 2, mask), ElementsAre(1, 2));
  EXPECT_THAT(MaskedPositions(6, 2, mask), ElementsAre(4, 5));
  EXPECT_THAT(MaskedPositions(2, 3, {{1, 1, 0}}), ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace attnrun::gen
