// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "execution/pool_allocator.h"
#include "support/op_tester.h"
#include "support/plan_tester.h"

namespace attnrun::testing {
namespace {

constexpr int64_t kWidth = 64;

// Counts the requests of a pool and the bytes in use.
class CountingSource final : public Allocator {
 public:
  absl::StatusOr<std::shared_ptr<void>> Allocate(size_t bytes) override {
    ++calls;
    used += bytes;
    most = std::max(most, used);
    auto block = Allocator::Heap().Allocate(bytes).value();
    void* data = block.get();
    return std::shared_ptr<void>(data,
                                 [this, bytes, block = std::move(block)](void*) { used -= bytes; });
  }
  int calls = 0;
  size_t used = 0;
  size_t most = 0;
};

// relu(x + softmax(x W x^T) x V), x [n, kWidth].
void BuildLayer(GraphBuilder& b) {
  const auto weight = [&](const char* name) {
    const std::vector<float> elements(kWidth * kWidth, 0.01F);
    return b.Constant(name, Make<float>({kWidth, kWidth}, elements));
  };
  Value* x = b.Input("x", DataType::kFloat, {"n", kWidth});
  Value* scores = b.Op("MatMul", {b.Op("MatMul", {x, weight("w")}), b.Op("Transpose", {x})});
  Value* values = b.Op("MatMul", {x, weight("v")});
  Value* mixed = b.Op("MatMul", {b.Op("Softmax", {scores}), values});
  b.Output(b.Op("Relu", {b.Op("Add", {x, mixed})}));
}

void RunOn(int64_t length, const PlanTester& plan, Allocator& allocator) {
  const std::vector<float> elements(length * kWidth, 0.5F);
  ASSERT_TRUE(plan.Run({Make<float>({length, kWidth}, elements)}, {}, allocator).ok());
}

TEST(RepeatedRunsTest, TheSecondRunOfAShapeAllocatesNoTensorMemory) {
  const PlanTester plan(BuildLayer);
  CountingSource source;
  exec::PoolAllocator pool(source);
  for (const int64_t length : {100, 37, 256}) {
    RunOn(length, plan, pool);
    const int calls = source.calls;
    RunOn(length, plan, pool);
    EXPECT_EQ(source.calls, calls) << length;
  }
}

TEST(RepeatedRunsTest, MemoryStopsGrowingOverAStreamOfLengths) {
  const PlanTester plan(BuildLayer);
  CountingSource source;
  exec::PoolAllocator pool(source);
  std::mt19937 generator(1);
  std::uniform_int_distribution<int64_t> draw(8, 256);
  std::vector<int64_t> lengths(100);
  for (int64_t& length : lengths) length = draw(generator);
  for (const int64_t length : lengths) RunOn(length, plan, pool);
  const size_t peak = pool.peak_bytes();
  const int calls = source.calls;
  for (const int64_t length : lengths) RunOn(length, plan, pool);
  // The bound is the peak of the longest run plus as much again in blocks of other sizes.
  EXPECT_EQ(pool.peak_bytes(), peak);
  EXPECT_LE(source.most, 2 * peak);
  EXPECT_LE(source.calls, 2 * calls);
}

}  // namespace
}  // namespace attnrun::testing
