// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using Ints = std::vector<int64_t>;
using ::testing::HasSubstr;

OpTester Suppress(Tensor boxes, Tensor scores, int64_t most, float iou) {
  OpTester op("NonMaxSuppression", 20);
  op.Input(std::move(boxes)).Input(std::move(scores));
  op.Input(Make<int64_t>({1}, {most})).Input(Make<float>({1}, {iou}));
  return op;
}

// Three boxes of height 1: the second overlaps the first by half, the third is apart.
Tensor ThreeBoxes() { return Make<float>({1, 3, 4}, {0, 0, 1, 2, 0, 1, 1, 3, 1, 9, 0, 8}); }

void ExpectBoth(const OpTester& op, const Ints& expected) {
  const auto rows = static_cast<int64_t>(expected.size()) / 3;
  ExpectClose(op.Reference().value()[0], Make<int64_t>({rows, 3}, expected), 0);
  ExpectClose(op.Kernel().value()[0], Make<int64_t>({rows, 3}, expected), 0);
}

TEST(NonMaxSuppressionTest, DropsWhatOverlapsABetterBox) {
  const Tensor scores = Make<float>({1, 2, 3}, {0.5F, 0.9F, 0.7F, 0.5F, 0.5F, 0.1F});
  // The first two share 1 of 3: an intersection over union of 1/3 is not above 1/3.
  ExpectBoth(Suppress(ThreeBoxes(), scores, 9, 0.3F), {0, 0, 1, 0, 0, 2, 0, 1, 0, 0, 1, 2});
  ExpectBoth(Suppress(ThreeBoxes(), scores, 9, 0.34F),
             {0, 0, 1, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 2});
  ExpectBoth(Suppress(ThreeBoxes(), scores, 1, 0.3F), {0, 0, 1, 0, 1, 0});
  ExpectBoth(Suppress(ThreeBoxes(), scores, 0, 0.3F), {});
}

TEST(NonMaxSuppressionTest, DropsScoresThatAreNotAboveTheThreshold) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor scores = Make<float>({1, 1, 3}, {0.5F, nan, 0.7F});
  ExpectBoth(Suppress(ThreeBoxes(), scores, 9, 0.3F), {0, 0, 2, 0, 0, 0});
  OpTester op = Suppress(ThreeBoxes(), scores, 9, 0.3F);
  ExpectBoth(op.Input(Make<float>({}, {0.5F})), {0, 0, 2});
}

TEST(NonMaxSuppressionTest, WithoutAGreatestNumberNothingIsChosen) {
  OpTester op("NonMaxSuppression", 11);
  ExpectBoth(op.Input(ThreeBoxes()).Input(Make<float>({1, 1, 3}, {1, 2, 3})), {});
}

TEST(NonMaxSuppressionTest, KernelAgreesWithReference) {
  const uint32_t seed = Seed();
  std::mt19937 generator(seed);
  for (const int64_t centered : {0, 1}) {
    for (const int64_t boxes : {0, 1, 60}) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      OpTester op = Suppress(RandomFloats({2, boxes, 4}, generator),
                             RandomFloats({2, 3, boxes}, generator), 20, 0.25F);
      op.Input(Make<float>({1}, {-0.5F})).Attribute("center_point_box", centered);
      ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], 0);
    }
  }
}

TEST(NonMaxSuppressionTest, ErrorsSayWhatIsWrong) {
  const auto error = [](const OpTester& op) {
    return std::string(op.Reference().status().message());
  };
  const Tensor scores = Make<float>({1, 1, 3}, {1, 2, 3});
  EXPECT_THAT(error(Suppress(scores, scores, 1, 0)), HasSubstr("expected boxes float[B,N,4]"));
  EXPECT_THAT(error(Suppress(ThreeBoxes(), Make<float>({1, 1, 2}, {1, 2}), 1, 0)),
              HasSubstr("found float[1,3,4] and float[1,1,2]"));
  EXPECT_THAT(error(Suppress(ThreeBoxes(), scores, 1, 2)), HasSubstr("from 0 to 1, but found 2"));
}

}  // namespace
}  // namespace attnrun::testing
