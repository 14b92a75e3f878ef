// SPDX-License-Identifier: Apache-2.0
#include "generation/score_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "generation/scores.h"

namespace attnrun::gen {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> RandomScores(size_t count) {
  std::mt19937 generator(static_cast<unsigned>(count));
  std::normal_distribution<float> normal(-2, 9);
  std::vector<float> scores(count);
  for (float& score : scores) score = normal(generator);
  return scores;
}

TEST(ScoreSumsTest, AgreeWithLoopsForEveryRemainderOfAVector) {
  for (size_t count = 1; count < 70; ++count) {
    std::vector<float> scores = RandomScores(count);
    if (count % 3 == 0) scores[count / 2] = -kInfinity;
    const float largest = *std::max_element(scores.begin(), scores.end());
    EXPECT_EQ(LargestScore(scores), largest);
    double sum = 0;
    for (const float score : scores) sum += std::exp(double{score} - largest);
    // Rounding of score - largest, up to 60 apart, and one ulp of the exponential.
    const double tolerance = 32 * std::numeric_limits<float>::epsilon();
    EXPECT_NEAR(SumOfExponentials(scores, largest), sum, tolerance * sum);
  }
}

TEST(ScoreSumsTest, FindANan) {
  for (const size_t place : {0, 7, 8, 20}) {
    std::vector<float> scores = RandomScores(21);
    scores[place] = kNan;
    EXPECT_TRUE(std::isnan(LargestScore(scores)));
    EXPECT_TRUE(std::isnan(SumOfExponentials(scores, 30)));
    // A draft's guess stays in the vocabulary.
    EXPECT_EQ(ArgMax(scores), 0U);
  }
}

TEST(ScoreSumsTest, TakeExcludedScoresAndNone) {
  EXPECT_EQ(LargestScore({}), -kInfinity);
  EXPECT_EQ(LargestScore(std::vector<float>(9, -kInfinity)), -kInfinity);
  EXPECT_EQ(LargestScore(std::vector<float>{1, kInfinity}), kInfinity);
  EXPECT_EQ(SumOfExponentials(std::vector<float>{-kInfinity, 2, -kInfinity}, 2), 1);
}

}  // namespace
}  // namespace attnrun::gen
