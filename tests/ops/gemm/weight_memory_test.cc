// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/weight_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

namespace attnrun::testing {
namespace {

std::shared_ptr<void> Filled(size_t bytes, int value) {
  std::shared_ptr<void> memory = ops::WeightMemory().Allocate(bytes).value();
  std::memset(memory.get(), value, bytes);
  return memory;
}

bool Holds(const std::shared_ptr<void>& memory, size_t bytes, char value) {
  const std::vector<char> expected(bytes, value);
  return std::memcmp(memory.get(), expected.data(), bytes) == 0;
}

TEST(WeightMemoryTest, WeightsDoNotOverlapAndAreAligned) {
  const std::vector<size_t> sizes = {1, 100, 16384, 100001, 5000000, 9000000, 40000000, 200000};
  std::vector<std::shared_ptr<void>> weights;
  for (size_t i = 0; i < sizes.size(); ++i) {
    weights.push_back(Filled(sizes[i], static_cast<int>(i)));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(weights[i].get()) % 64, 0U) << sizes[i];
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_TRUE(Holds(weights[i], sizes[i], static_cast<char>(i))) << sizes[i];
  }
}

TEST(WeightMemoryTest, WeightsOutliveTheirNeighbours) {
  constexpr size_t kBytes = 1 << 20;
  std::shared_ptr<void> first = Filled(kBytes, 1);
  const std::shared_ptr<void> second = Filled(kBytes, 2);
  first.reset();
  const std::shared_ptr<void> third = Filled(kBytes, 3);
  EXPECT_TRUE(Holds(second, kBytes, 2));
  EXPECT_TRUE(Holds(third, kBytes, 3));
}

TEST(WeightMemoryTest, RefusesWeightsThatDoNotFit) {
  for (const size_t bytes : {size_t{1} << 47, size_t{1} << 62, ~size_t{0}}) {
    EXPECT_EQ(ops::WeightMemory().Allocate(bytes).status().code(),
              absl::StatusCode::kResourceExhausted);
  }
}

}  // namespace
}  // namespace attnrun::testing
