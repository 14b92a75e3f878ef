// SPDX-License-Identifier: Apache-2.0
#include "core/region.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "core/huge_page.h"

namespace attnrun::testing {
namespace {

const char* Address(const std::shared_ptr<void>& memory) {
  return static_cast<const char*>(memory.get());
}

TEST(RegionTest, PartsLieSideBySideFromAHugePageOn) {
  Region region(2 * kHugePage);
  const std::shared_ptr<void> first = region.Allocate(100).value();
  const std::shared_ptr<void> second = region.Allocate(kHugePage).value();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first.get()) % kHugePage, 0U);
  EXPECT_EQ(Address(second) - Address(first), 128);
}

TEST(RegionTest, WhatDoesNotFitComesFromTheHeap) {
  Region region(kHugePage);
  const std::shared_ptr<void> first = region.Allocate(kHugePage - 64).value();
  const std::shared_ptr<void> second = region.Allocate(65).value();
  const std::shared_ptr<void> third = region.Allocate(63).value();
  EXPECT_EQ(Address(third) - Address(first), static_cast<int64_t>(kHugePage) - 64);
  EXPECT_TRUE(Address(second) < Address(first) || Address(second) >= Address(first) + kHugePage);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(second.get()) % 64, 0U);
}

TEST(RegionTest, PartsOutliveTheRegion) {
  std::optional<Region> region(std::in_place, kHugePage);
  const std::shared_ptr<void> part = region->Allocate(1000).value();
  std::memset(part.get(), 7, 1000);
  region.reset();
  const std::vector<char> expected(1000, 7);
  EXPECT_EQ(std::memcmp(part.get(), expected.data(), 1000), 0);
}

TEST(RegionTest, SaysThatTheHeapIsExhausted) {
  for (const size_t bytes : {size_t{1} << 47, ~size_t{0}}) {
    EXPECT_EQ(Region(bytes).Allocate(1).status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(Region(1).Allocate(bytes).status().code(), absl::StatusCode::kResourceExhausted);
  }
}

TEST(HeapTest, LargeBlocksBeginAtAHugePage) {
  for (const size_t bytes : {kHugePage, 3 * kHugePage + 5}) {
    const std::shared_ptr<void> block = Allocator::Heap().Allocate(bytes).value();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.get()) % kHugePage, 0U);
    std::memset(block.get(), 1, bytes);
  }
}

}  // namespace
}  // namespace attnrun::testing
