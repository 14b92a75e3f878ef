// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "core/parallel.h"
#include "core/same_bits.h"
#include "execution/pool_allocator.h"
#include "support/op_tester.h"
#include "support/plan_tester.h"

namespace attnrun::testing {
namespace {

// The products of one layer, a norm and an activation, then a Loop that adds a captured bias.
void BuildLayer(GraphBuilder& b) {
  std::mt19937 generator(7);
  Value* x = b.Input("x", DataType::kFloat, {"rows", 48});
  Value* up = b.Constant("up", RandomFloats({48, 96}, generator, 0.1F));
  Value* down = b.Constant("down", RandomFloats({96, 48}, generator, 0.1F));
  Value* scale = b.Constant("scale", RandomFloats({48}, generator));
  Value* hidden = b.Op("Relu", {b.Op("MatMul", {b.Op("LayerNormalization", {x, scale}), up})});
  Value* y = b.Op("Softmax", {b.Op("Add", {x, b.Op("MatMul", {hidden, down})})});
  const auto body = Subgraph([&](GraphBuilder& inner) {
    inner.Input("iteration", DataType::kInt64, {});
    Value* condition = inner.Input("condition", DataType::kBool, {});
    Value* carried = inner.Input("carried", DataType::kFloat, {"rows", 48});
    inner.Output(condition).Output(inner.Op("Add", {carried, inner.Capture(scale)}));
  });
  b.Output(b.Op("Loop", {b.Constant<int64_t>("three", {}, {3}), nullptr, y}, {{"body", body}}));
  b.Output(hidden);
}

bool SameBits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Tensor& x, const Tensor& y) { return attnrun::SameBits(x, y); });
}

TEST(ConcurrencyTest, ManyThreadsOnOnePlanGetTheSameBitsAsOne) {
  const PlanTester plan(BuildLayer);
  exec::PoolAllocator pool(Allocator::Heap());
  std::mt19937 generator(Seed());
  std::vector<Tensor> inputs;
  std::vector<std::vector<Tensor>> expected;
  SetNumThreads(1);
  for (const int64_t rows : {1, 5, 17, 64}) {
    inputs.push_back(RandomFloats({rows, 48}, generator));
    expected.push_back(plan.Run({inputs.back()}).value());
  }
  std::vector<std::string> failures(6);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < failures.size(); ++t) {
    threads.emplace_back([&, t] {
      SetNumThreads(1 + static_cast<int>(t % 3));
      for (size_t run = 0; run < 40; ++run) {
        const size_t i = (run + t) % inputs.size();
        const auto outputs = plan.Run({inputs[i]}, {}, pool);
        if (!outputs.ok()) {
          failures[t] = outputs.status().ToString();
        } else if (!SameBits(*outputs, expected[i])) {
          failures[t] = "other bits for input " + std::to_string(i);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
}

}  // namespace
}  // namespace attnrun::testing
