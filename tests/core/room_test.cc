// SPDX-License-Identifier: Apache-2.0
#include "core/room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
