// SPDX-License-Identifier: Apache-2.0
#include "input_fit/extent_search.h"

#include <gtest/gtest.h>

namespace attnrun::fit {
namespace {

using Values = std::map<std::string, int64_t>;

const SymInt kHeight = SymInt::Symbol("height");
const SymInt kWidth = SymInt::Symbol("width");
const SymInt kSteps = SymInt::Symbol("steps");
const SymInt kMemory = SymInt::Symbol("memory");

// The extents that are found from those wished for. An extent below 0 is its negative, fixed.
Values Found(const InputNeeds& needs, const Values& wished) {
  ExtentSearch::Extents extents;
  for (const auto& [symbol, value] : wished) extents[symbol] = {std::abs(value), value < 0};
  ExtentSearch search(needs, extents);
  search.Run();
  Values found;
  for (const auto& [symbol, value] : wished) found[symbol] = search.Value(symbol);
  return found;
}

TEST(ExtentSearchTest, ExtentsThatMeetAllNeedsStay) {
  const InputNeeds needs = {.not_negative = {kSteps - 10}, .equal = {{kSteps, kMemory}}};
  EXPECT_EQ(Found(needs, {{"steps", 16}, {"memory", 16}}), (Values{{"steps", 16}, {"memory", 16}}));
}

TEST(ExtentSearchTest, TheNearestExtentIsTaken) {
  EXPECT_EQ(Found({.not_negative = {kSteps - 256}}, {{"steps", 16}}), (Values{{"steps", 256}}));
  EXPECT_EQ(Found({.not_negative = {68 - kSteps}}, {{"steps", 3000}}), (Values{{"steps", 68}}));
  EXPECT_EQ(Found({.equal = {{kSteps, 64}}}, {{"steps", 0}}), (Values{{"steps", 64}}));
}

// A table of 17 positions: one for the class and 4 x 4 patches of 8 pixels.
TEST(ExtentSearchTest, TwoExtentsMayChangeTogether) {
  const SymInt patches = SymInt::Quotient(kHeight, 8) * SymInt::Quotient(kWidth, 8);
  const InputNeeds needs = {.not_negative = {kHeight - 8, kWidth - 8},
                            .broadcast = {{patches + 1, 17}}};
  EXPECT_EQ(Found(needs, {{"height", 224}, {"width", 224}}),
            (Values{{"height", 39}, {"width", 39}}));
  EXPECT_EQ(Found(needs, {{"height", -32}, {"width", 224}}),
            (Values{{"height", 32}, {"width", 39}}));
}

TEST(ExtentSearchTest, ExtentsOfOneInputFollowThoseOfAnother) {
  EXPECT_EQ(Found({.equal = {{kMemory, kSteps}}}, {{"steps", -77}, {"memory", 16}}),
            (Values{{"steps", 77}, {"memory", 77}}));
  // Neither needs to change where one is 1.
  EXPECT_EQ(Found({.broadcast = {{kMemory, kSteps}}}, {{"steps", 1}, {"memory", 16}}),
            (Values{{"steps", 1}, {"memory", 16}}));
}

TEST(ExtentSearchTest, NeedsThatNoExtentMeetsChangeNothing) {
  const InputNeeds needs = {.not_negative = {kSteps - 100, 50 - kSteps}};
  EXPECT_EQ(Found(needs, {{"steps", -16}}), (Values{{"steps", 16}}));
  EXPECT_EQ(Found({.equal = {{kSteps * 2, 7}}}, {{"steps", 16}}), (Values{{"steps", 16}}));
}

}  // namespace
}  // namespace attnrun::fit
