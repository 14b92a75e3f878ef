// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/scratch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <thread>

namespace attnrun::testing {
namespace {

using ops::Scratch;

TEST(ScratchTest, ThoseThatExistAtOneTimeDoNotShareMemory) {
  constexpr int64_t kCount = 1000;
  Scratch outer;
  auto* const numbers = outer.AtLeast<int64_t>(kCount);
  std::iota(numbers, numbers + kCount, 0);
  for (int64_t count = 1; count < (1 << 20); count *= 8) {
    Scratch inner;
    Scratch innermost;
    std::fill_n(inner.AtLeast<int64_t>(count), count, -1);
    std::fill_n(innermost.AtLeast<int64_t>(count), count, -2);
    EXPECT_EQ(inner.AtLeast<int64_t>(count)[count - 1], -1);
  }
  for (int64_t i = 0; i < kCount; ++i) ASSERT_EQ(numbers[i], i);
}

TEST(ScratchTest, KeepsItsMemoryForTheNextAtTheSameDepth) {
  const auto memory = [](int64_t bytes) { return Scratch().AtLeast<uint8_t>(bytes); };
  uint8_t* const first = memory(4096);
  EXPECT_EQ(memory(4096), first);
  EXPECT_EQ(memory(1), first);
  const Scratch outer;
  EXPECT_NE(memory(4096), first);
}

TEST(ScratchTest, IsAlignedToCacheLines) {
  for (const int64_t bytes : {1, 63, 1000, 1 << 20}) {
    Scratch scratch;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(scratch.AtLeast<uint8_t>(bytes)) % 64, 0);
  }
}

TEST(ScratchTest, ThreadsDoNotShareMemory) {
  Scratch scratch;
  scratch.AtLeast<int>(100)[99] = 1;
  std::thread([] { Scratch().AtLeast<int>(100)[99] = 2; }).join();
  EXPECT_EQ(scratch.AtLeast<int>(100)[99], 1);
}

}  // namespace
}  // namespace attnrun::testing
