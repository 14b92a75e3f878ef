// SPDX-License-Identifier: Apache-2.0
#include "execution/pool_allocator.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace attnrun {
namespace {

constexpr size_t kMegabyte = 1 << 20;

// Has at most `limit` bytes in use at a time.
class LimitedAllocator final : public Allocator {
 public:
  explicit LimitedAllocator(size_t limit) : limit_(limit) {}

  absl::StatusOr<std::shared_ptr<void>> Allocate(size_t bytes) override {
    ++calls;
    if (bytes > limit_ - used_) return absl::ResourceExhaustedError("limit");
    auto block = Allocator::Heap().Allocate(bytes);
    if (!block.ok()) return block;
    used_ += bytes;
    void* data = block->get();
    return std::shared_ptr<void>(
        data, [this, bytes, kept = *std::move(block)](void*) { used_ -= bytes; });
  }
  size_t used() const { return used_; }
  int calls = 0;

 private:
  const size_t limit_;
  size_t used_ = 0;
};

TEST(PoolAllocatorTest, ServesARepeatedRunFromKeptBlocks) {
  LimitedAllocator source(SIZE_MAX);
  exec::PoolAllocator pool(source);
  for (int run = 0; run < 3; ++run) {
    const auto a = pool.Allocate(kMegabyte).value();
    const auto b = pool.Allocate(3 * kMegabyte).value();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a.get()) % 64, 0);
    EXPECT_NE(a.get(), b.get());
  }
  EXPECT_EQ(source.calls, 2);
  EXPECT_EQ(pool.kept_bytes(), 4 * kMegabyte);
  EXPECT_EQ(pool.peak_bytes(), 4 * kMegabyte);
}

TEST(PoolAllocatorTest, SmallBlocksAreAligned) {
  LimitedAllocator source(SIZE_MAX);
  exec::PoolAllocator pool(source);
  std::vector<std::shared_ptr<void>> blocks;
  for (size_t bytes = 0; bytes < 1500; bytes += 50) {
    blocks.push_back(pool.Allocate(bytes).value());
    ASSERT_EQ(reinterpret_cast<uintptr_t>(blocks.back().get()) % 64, 0) << bytes;
  }
}

TEST(PoolAllocatorTest, KeepsWithinItsBoundAsSizesChange) {
  LimitedAllocator source(SIZE_MAX);
  exec::PoolAllocator pool(source);
  for (size_t megabytes = 1; megabytes <= 16; ++megabytes) {
    (void)pool.Allocate(megabytes * kMegabyte).value();
    EXPECT_LE(source.used(), 2 * pool.peak_bytes());
  }
}

TEST(PoolAllocatorTest, ReleasesTheLeastRecentlyUsedBlockFirst) {
  LimitedAllocator source(SIZE_MAX);
  exec::PoolAllocator pool(source);
  for (const size_t megabytes : {16, 9, 5, 3}) {
    (void)pool.Allocate(megabytes * kMegabyte).value();
  }
  EXPECT_EQ(source.calls, 4);
  // All four together exceed twice the largest, so the block of 16 MB was released.
  EXPECT_EQ(pool.kept_bytes(), 17 * kMegabyte);
  for (const size_t megabytes : {9, 5, 3}) (void)pool.Allocate(megabytes * kMegabyte).value();
  EXPECT_EQ(source.calls, 4);
}

TEST(PoolAllocatorTest, ARefusedRequestDoesNotCountTowardsThePeak) {
  LimitedAllocator source(8 * kMegabyte);
  exec::PoolAllocator pool(source);
  EXPECT_EQ(pool.Allocate(64 * kMegabyte).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(pool.peak_bytes(), 0);
  (void)pool.Allocate(kMegabyte).value();
  EXPECT_EQ(pool.peak_bytes(), kMegabyte);
}

TEST(PoolAllocatorTest, ReleasesKeptBlocksBeforeItRefuses) {
  LimitedAllocator source(8 * kMegabyte);
  exec::PoolAllocator pool(source);
  (void)pool.Allocate(5 * kMegabyte).value();
  // The request does not fit beside the kept block, and the kept block is too small for it.
  EXPECT_TRUE(pool.Allocate(8 * kMegabyte).ok());
}

TEST(PoolAllocatorTest, BlocksMayOutliveThePool) {
  std::shared_ptr<void> block;
  {
    exec::PoolAllocator pool(std::make_shared<LimitedAllocator>(SIZE_MAX));
    block = pool.Allocate(kMegabyte).value();
  }
  static_cast<char*>(block.get())[kMegabyte - 1] = 1;
  block.reset();
}

}  // namespace
}  // namespace attnrun
