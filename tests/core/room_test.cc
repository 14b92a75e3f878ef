// SPDX-License-Identifier: Apache-2.0
#include "core/room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;

std::vector<float> ElementsOf(const Tensor& tensor) {
  const Tensor dense = *tensor.Dense();
  return {dense.data<float>(), dense.data<float>() + dense.num_elements()};
}

// A tensor [2, positions] that grows along axis 1, with `value` in all of its positions.
Tensor Filled(int64_t positions, int64_t capacity, float value) {
  const Tensor tensor = *MakeRoom(DataType::kFloat, {2, 0}, 1, capacity, Allocator::Heap());
  std::optional<Grown> grown = Grow(tensor, 1, positions);
  auto* added = static_cast<float*>(grown->added);
  for (int64_t i = 0; i < positions; ++i) added[i] = added[capacity + i] = value;
  return grown->tensor;
}

TEST(RoomTest, GrowsInPlace) {
  const Tensor tensor = Filled(2, 4, 1);
  std::optional<Grown> grown = Grow(tensor, 1, 1);
  ASSERT_TRUE(grown.has_value());
  static_cast<float*>(grown->added)[0] = 5;
  static_cast<float*>(grown->added)[4] = 6;
  EXPECT_EQ(grown->tensor.raw(), tensor.raw());
  EXPECT_EQ(grown->tensor.shape(), (Shape{2, 3}));
  EXPECT_THAT(ElementsOf(grown->tensor), ElementsAre(1, 1, 5, 1, 1, 6));
  EXPECT_THAT(ElementsOf(tensor), ElementsAre(1, 1, 1, 1));
}

TEST(RoomTest, StaysWithinItsMemory) {
  const Tensor tensor = Filled(2, 4, 1);
  EXPECT_EQ(CapacityOf(tensor), 4);
  EXPECT_FALSE(Grow(tensor, 1, 3).has_value());
  EXPECT_FALSE(Grow(tensor, 1, -1).has_value());
  EXPECT_TRUE(Grow(tensor, 1, 2).has_value());
}

TEST(RoomTest, GrowsOnce) {
  const Tensor tensor = Filled(2, 4, 1);
  EXPECT_TRUE(Grow(tensor, 1, 1).has_value());
  EXPECT_FALSE(Grow(tensor, 1, 1).has_value());
  EXPECT_TRUE(Grow(Shrunk(tensor, 2), 1, 1).has_value());
}

TEST(RoomTest, ShrinksToItsFirstPositions) {
  const Tensor tensor = Filled(3, 4, 7);
  const Tensor shrunk = Shrunk(tensor, 1);
  EXPECT_THAT(ElementsOf(shrunk), ElementsAre(7, 7));
  EXPECT_FALSE(Grow(tensor, 1, 1).has_value());
  EXPECT_TRUE(Grow(shrunk, 1, 3).has_value());
}

// Positions [begin, end) of a window that grows by one and loses one, each with its number.
Tensor Slid(Tensor tensor, int64_t capacity, int64_t steps, int64_t window) {
  for (int64_t i = 0; i < steps; ++i) {
    std::optional<Grown> grown = Grow(tensor, 1, 1);
    EXPECT_TRUE(grown.has_value()) << i;
    auto* added = static_cast<float*>(grown->added);
    added[0] = added[capacity] = static_cast<float>(i);
    Settle(grown->tensor);
    const int64_t length = grown->tensor.dim(1);
    const int64_t begin = std::max<int64_t>(length - window, 0);
    tensor = *CutInRoom(grown->tensor, 1, begin, length - begin);
  }
  return tensor;
}

TEST(RoomTest, AWindowMovesToTheFront) {
  constexpr int64_t kCapacity = 2 * 3 + 4 * kHistory;
  for (const int64_t steps : {3, 100, 261, 262, 263, 264, 1'000, 5'000}) {
    const Tensor empty = *MakeRoom(DataType::kFloat, {2, 0}, 1, kCapacity, Allocator::Heap());
    const Tensor window = Slid(empty, kCapacity, steps, 3);
    const auto last = static_cast<float>(steps - 1);
    EXPECT_THAT(ElementsOf(window),
                ElementsAre(last - 2, last - 1, last, last - 2, last - 1, last));
    EXPECT_EQ(CapacityOf(window), kCapacity);
    if (steps < 100) continue;
    const std::optional<Tensor> earlier = Rewound(window, kHistory, 3);
    ASSERT_TRUE(earlier.has_value()) << steps;
    EXPECT_EQ(ElementsOf(*earlier)[2], last - kHistory);
    EXPECT_TRUE(Grow(*earlier, 1, 1).has_value());
  }
}

TEST(RoomTest, AMovedWindowSparesTheOldOne) {
  constexpr int64_t kCapacity = 2 * 3 + 4 * kHistory;
  const Tensor empty = *MakeRoom(DataType::kFloat, {2, 0}, 1, kCapacity, Allocator::Heap());
  const Tensor window = Slid(empty, kCapacity, kCapacity, 3);
  const std::vector<float> elements = ElementsOf(window);
  const std::optional<Grown> moved = Grow(window, 1, 1);
  ASSERT_TRUE(moved.has_value());
  EXPECT_LT(moved->tensor.raw(), window.raw());
  // It would reach the old one.
  EXPECT_FALSE(Grow(moved->tensor, 1, kCapacity / 2 + kHistory).has_value());
  EXPECT_EQ(ElementsOf(window), elements);
  // Taken back, it remembers what the move has left alone.
  EXPECT_EQ(ElementsOf(Shrunk(window, 3)), elements);
  EXPECT_TRUE(Rewound(window, kHistory, 3).has_value());
  EXPECT_FALSE(Rewound(window, 2 * kHistory, 3).has_value());
}

TEST(RoomTest, OnlyPositionsAreCut) {
  const Tensor tensor = Filled(3, 4, 1);
  EXPECT_FALSE(CutInRoom(tensor, 0, 0, 1).has_value());
  EXPECT_FALSE(CutInRoom(tensor, 1, 0, 0).has_value());
  EXPECT_FALSE(CutInRoom(*tensor.Dense(), 1, 0, 1).has_value());
  EXPECT_FALSE(Grow(*CutInRoom(tensor, 1, 0, 2), 1, 1).has_value());
  EXPECT_TRUE(Grow(*CutInRoom(tensor, 1, 2, 1), 1, 1).has_value());
}

TEST(RoomTest, OtherViewsHaveNone) {
  const Tensor tensor = Filled(2, 4, 1);
  const Tensor transposed = tensor.View({2, 2}, {1, 4}, 0);
  const Tensor second = tensor.View({1, 2}, {4, 1}, 4);
  EXPECT_FALSE(Grow(transposed, 1, 1).has_value());
  EXPECT_FALSE(Grow(second, 1, 1).has_value());
  EXPECT_FALSE(Grow(tensor, 0, 1).has_value());
  EXPECT_FALSE(Grow(*tensor.Dense(), 1, 1).has_value());
  EXPECT_EQ(CapacityOf(Tensor()), 0);
}

}  // namespace
}  // namespace attnrun::testing
