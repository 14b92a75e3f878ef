// SPDX-License-Identifier: Apache-2.0
#include "attnrun/shape.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "core/strided.h"

namespace attnrun {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

TEST(NumElementsTest, MultipliesTheExtents) {
  EXPECT_EQ(NumElements({}).value(), 1);
  EXPECT_EQ(NumElements({2, 3, 4}).value(), 24);
  EXPECT_EQ(NumElements({2, 0, 4}).value(), 0);
  EXPECT_EQ(NumElements({kMax, 1}).value(), kMax);
}

TEST(NumElementsTest, RefusesCountsBeyond64Bits) {
  const std::vector<Shape> shapes = {
      {-1}, {0, -1}, {kMin}, {int64_t{1} << 32, int64_t{1} << 31}, {kMax, 2}, {kMax, kMax, kMax}};
  for (const Shape& shape : shapes) {
    EXPECT_EQ(NumElements(shape).status().code(), absl::StatusCode::kInvalidArgument)
        << ToString(shape);
  }
}

// The strides of an empty tensor are products of its other extents, so those products must not
// overflow.
TEST(NumElementsTest, AnExtentOfZeroDoesNotHideAnOverflow) {
  EXPECT_FALSE(NumElements({0, kMax, 2}).ok());
  EXPECT_FALSE(NumElements({kMax, 2, 0}).ok());
}

TEST(DenseStridesTest, AreRowMajor) {
  EXPECT_EQ(DenseStrides({}), Shape());
  EXPECT_EQ(DenseStrides({2, 3, 4}), Shape({12, 4, 1}));
  EXPECT_EQ(DenseStrides({2, 0, 4}), Shape({4, 4, 1}));
}

TEST(NormalizeAxisTest, CountsFromEitherEnd) {
  EXPECT_EQ(NormalizeAxis(0, 3).value(), 0);
  EXPECT_EQ(NormalizeAxis(2, 3).value(), 2);
  EXPECT_EQ(NormalizeAxis(-1, 3).value(), 2);
  EXPECT_EQ(NormalizeAxis(-3, 3).value(), 0);
}

TEST(NormalizeAxisTest, RefusesAxesOutside) {
  for (const int64_t axis : {int64_t{3}, int64_t{-4}, kMax, kMin}) {
    EXPECT_EQ(NormalizeAxis(axis, 3).status().code(), absl::StatusCode::kInvalidArgument) << axis;
  }
  EXPECT_FALSE(NormalizeAxis(0, 0).ok());
  EXPECT_FALSE(NormalizeAxis(-1, 0).ok());
}

TEST(BroadcastShapesTest, AlignsTheInnermostAxes) {
  EXPECT_EQ(BroadcastShapes({}, {}).value(), Shape());
  EXPECT_EQ(BroadcastShapes({2, 3}, {}).value(), Shape({2, 3}));
  EXPECT_EQ(BroadcastShapes({3}, {2, 1}).value(), Shape({2, 3}));
  EXPECT_EQ(BroadcastShapes({8, 1, 6, 1}, {7, 1, 5}).value(), Shape({8, 7, 6, 5}));
}

TEST(BroadcastShapesTest, AnEmptyAxisBroadcastsOnlyWithOne) {
  EXPECT_EQ(BroadcastShapes({0}, {1}).value(), Shape({0}));
  EXPECT_EQ(BroadcastShapes({4, 1}, {0}).value(), Shape({4, 0}));
  EXPECT_FALSE(BroadcastShapes({0}, {3}).ok());
}

TEST(BroadcastShapesTest, MessageNamesBothShapes) {
  const absl::Status status = BroadcastShapes({2, 3}, {2}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "shapes [2,3] and [2] do not broadcast");
}

TEST(BroadcastStridesTest, AreZeroAlongRepeatedAxes) {
  EXPECT_EQ(BroadcastStrides({2, 1, 4}, {5, 2, 3, 4}).value(), Shape({0, 4, 0, 1}));
  EXPECT_EQ(BroadcastStrides({}, {2, 3}).value(), Shape({0, 0}));
}

TEST(BroadcastStridesTest, OnlyTheFirstShapeMayGrow) {
  EXPECT_FALSE(BroadcastStrides({3}, {1}).ok());
  EXPECT_FALSE(BroadcastStrides({1, 3}, {3}).ok());
  EXPECT_FALSE(BroadcastStrides({2}, {3}).ok());
}

std::vector<int64_t> Offsets(const Shape& shape, const Shape& strides) {
  std::vector<int64_t> offsets;
  ForEachOffset(shape, strides, [&](int64_t offset) { offsets.push_back(offset); });
  return offsets;
}

TEST(ForEachOffsetTest, WalksRowMajorUnderAnyStrides) {
  EXPECT_EQ(Offsets({2, 3}, {1, 2}), std::vector<int64_t>({0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(Offsets({2, 2}, {0, 1}), std::vector<int64_t>({0, 1, 0, 1}));
  EXPECT_EQ(Offsets({3}, {-2}), std::vector<int64_t>({0, -2, -4}));
  EXPECT_EQ(Offsets({}, {}), std::vector<int64_t>({0}));
  EXPECT_EQ(Offsets({2, 0, 3}, {3, 3, 1}), std::vector<int64_t>());
}

}  // namespace
}  // namespace attnrun
