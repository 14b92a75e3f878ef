// SPDX-License-Identifier: Apache-2.0
#include "execution/together.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/parallel.h"
#include "core/same_bits.h"
#include "execution/joins.h"
#include "execution/pool_allocator.h"
#include "support/op_tester.h"
#include "support/plan_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kWidth = 16;

// x + softmax(x W x^T) x, x [n, kWidth], and a row of it. Positions see each other in all steps but
// the product with W and the sum.
void BuildAttention(GraphBuilder& b) {
  std::mt19937 generator(7);
  Value* x = b.Input("x", DataType::kFloat, {"n", kWidth});
  Value* row = b.Input("row", DataType::kInt64, {});
  Value* queries =
      b.Op("MatMul", {x, b.Constant("w", RandomFloats({kWidth, kWidth}, generator, 0.1F))});
  Value* scores = b.Op("MatMul", {queries, b.Op("Transpose", {x})});
  Value* y = b.Op("Add", {x, b.Op("MatMul", {b.Op("Softmax", {scores}), x})});
  b.Output(y);
  b.Output(b.Op("Gather", {y, row}));
}

class TogetherTest : public ::testing::Test {
 protected:
  ~TogetherTest() override { SetNumThreads(threads_); }

  std::vector<Tensor> InputsOf(int64_t length, int64_t row) {
    return {RandomFloats({length, kWidth}, generator_), Make<int64_t>({}, {row})};
  }

  absl::Status RunTogether(const std::vector<std::vector<Tensor>>& inputs, int threads) {
    SetNumThreads(threads);
    buffers_.assign(inputs.size(), {});
    std::vector<exec::RunBuffers*> requests;
    for (size_t r = 0; r < inputs.size(); ++r) {
      buffers_[r].inputs = inputs[r];
      requests.push_back(&buffers_[r]);
    }
    exec::PoolAllocator pool(Allocator::Heap());
    const RunOptions options;
    Interrupt never;
    return exec::ExecuteTogether(plan_.plan(), joins_, requests, {options, never, pool});
  }

  const int threads_ = NumThreads();
  std::mt19937 generator_{Seed()};
  const PlanTester plan_{BuildAttention};
  const std::vector<exec::Join> joins_ = exec::FindJoins(plan_.plan());
  std::vector<exec::RunBuffers> buffers_;
};

// Requests of equal lengths have a thread each; those beside one that is longer than all others do
// not.
TEST_F(TogetherTest, RequestsGetTheBitsOfSeparateRuns) {
  for (const int64_t last : {5, 200}) {
    std::vector<std::vector<Tensor>> inputs;
    for (int64_t r = 0; r < 12; ++r) inputs.push_back(InputsOf(5, r % 5));
    inputs.push_back(InputsOf(last, last - 1));
    for (const int threads : {1, 2, 3}) {
      ASSERT_EQ(RunTogether(inputs, threads), absl::OkStatus());
      for (size_t r = 0; r < inputs.size(); ++r) {
        const std::vector<Tensor> expected = plan_.Run(inputs[r]).value();
        for (size_t i = 0; i < expected.size(); ++i) {
          EXPECT_TRUE(SameBits(*buffers_[r].outputs[i].Dense(), expected[i]))
              << "request " << r << ", " << threads << " threads";
        }
      }
    }
  }
}

TEST_F(TogetherTest, AnErrorOfOneRequestIsThatOfTheRun) {
  std::vector<std::vector<Tensor>> inputs;
  for (int64_t r = 0; r < 12; ++r) inputs.push_back(InputsOf(5, r == 7 ? 5 : 0));
  for (const int threads : {1, 3}) {
    const absl::Status status = RunTogether(inputs, threads);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("Gather"));
  }
}

}  // namespace
}  // namespace attnrun::testing
