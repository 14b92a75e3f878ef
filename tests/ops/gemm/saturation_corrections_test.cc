// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/saturation_corrections.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using Corrections = std::vector<ops::SaturationCorrection>;

// Two panels of two columns and three steps.
const Shape kPanels = {2, 3, 8};

// True if such corrections may be read.
bool Belong(const std::vector<int64_t>& ends, const Corrections& corrections) {
  std::vector<int32_t> numbers;
  for (const auto& [row, column, value] : corrections) {
    numbers.insert(numbers.end(), {row, column, value});
  }
  const Tensor list = Make<int32_t>({static_cast<int64_t>(numbers.size())}, numbers);
  const Tensor of_panels = Make<int64_t>({static_cast<int64_t>(ends.size())}, ends);
  return ops::SaturationCorrections::Of(kPanels, of_panels, list).has_value();
}

TEST(SaturationCorrectionsTest, ClampedPairsAndCorrectionsMakeTheWeights) {
  std::vector<int8_t> weights(48, 3);
  weights[8] = 127;
  weights[9] = 2;
  weights[46] = -128;
  weights[47] = -3;
  Tensor panels = Make<int8_t>({2, 3, 8}, weights);
  const auto corrections = ops::SaturationCorrections::Clamp(panels, Allocator::Heap()).value();
  EXPECT_EQ(panels.data<int8_t>()[8], 126);
  EXPECT_EQ(panels.data<int8_t>()[46], -125);
  const auto first = corrections.OfPanel(0);
  EXPECT_EQ(Corrections(first.begin(), first.end()), (Corrections{{4, 0, 1}}));
  const auto second = corrections.OfPanel(1);
  EXPECT_EQ(Corrections(second.begin(), second.end()), (Corrections{{10, 1, -3}}));
  const auto read = ops::SaturationCorrections::Of(kPanels, corrections.ends(), corrections.list());
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->OfPanel(1)[0], second[0]);
}

TEST(SaturationCorrectionsTest, CorrectionsOutsideOfThePanelsAreRefused) {
  EXPECT_TRUE(Belong({0, 0}, {}));
  EXPECT_TRUE(Belong({1, 3}, {{11, 1, 1}, {0, 0, -128}, {0, 1, 126}}));
  EXPECT_FALSE(Belong({1}, {{0, 0, 1}}));
  EXPECT_FALSE(Belong({1, 1, 1}, {{0, 0, 1}}));
  EXPECT_FALSE(Belong({0, 0}, {{0, 0, 1}}));
  EXPECT_FALSE(Belong({0, 2}, {{0, 0, 1}}));
  EXPECT_FALSE(Belong({2, 1}, {{0, 0, 1}}));
  EXPECT_FALSE(Belong({-1, 1}, {{0, 0, 1}}));
  for (const ops::SaturationCorrection& wrong : Corrections{{12, 0, 1},
                                                            {-1, 0, 1},
                                                            {0, 2, 1},
                                                            {0, -1, 1},
                                                            {0, 0, 129},
                                                            {0, 0, INT32_MIN},
                                                            {INT32_MAX, INT32_MAX, 1}}) {
    EXPECT_FALSE(Belong({1, 1}, {wrong})) << wrong.row << " " << wrong.column;
  }
  // Twice the same, and another order.
  EXPECT_FALSE(Belong({2, 2}, {{0, 0, 1}, {0, 0, 1}}));
  EXPECT_FALSE(Belong({2, 2}, {{4, 0, 1}, {0, 0, 1}}));
}

}  // namespace
}  // namespace attnrun::testing
