// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <thread>

#include "absl/time/clock.h"
#include "core/parallel.h"
#include "support/op_tester.h"
#include "support/plan_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// y = MatMul(Softmax(Exp(x)), x)
void BuildChain(GraphBuilder& b) {
  Value* x = b.Input("x", DataType::kFloat, {"n", "n"});
  b.Output(b.Op("MatMul", {b.Op("Softmax", {b.Op("Exp", {x})}), x}));
}

// A Loop without a bound. Its body adds one, or is empty.
void BuildEndlessLoop(GraphBuilder& b, bool empty_body) {
  Value* x = b.Input("x", DataType::kFloat, {});
  const auto body = Subgraph([&](GraphBuilder& inner) {
    inner.Input("iteration", DataType::kInt64, {});
    Value* condition = inner.Input("condition", DataType::kBool, {});
    Value* carried = inner.Input("carried", DataType::kFloat, {});
    Value* one = inner.Constant<float>("one", {}, {1});
    inner.Output(condition).Output(empty_body ? carried : inner.Op("Add", {carried, one}));
  });
  b.Output(b.Op("Loop", {nullptr, b.Constant<bool>("true", {}, {true}), x}, {{"body", body}}));
}

Tensor Square() { return Make<float>({2, 2}, {1, 2, 3, 4}); }

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(InterruptionTest, ADeadlineThatHasPassedRunsNothing) {
  const PlanTester plan(BuildChain);
  int computed = 0;
  RunOptions options;
  options.deadline = absl::Now() - absl::Seconds(1);
  options.observer = [&](absl::string_view, const Tensor&) { ++computed; };
  EXPECT_EQ(plan.Run({Square()}, options).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(computed, 0);
}

TEST(InterruptionTest, ADeadlineEndsAnEndlessLoop) {
  for (const bool empty_body : {false, true}) {
    const PlanTester plan([&](GraphBuilder& b) { BuildEndlessLoop(b, empty_body); });
    RunOptions options;
    options.deadline = absl::Now() + absl::Milliseconds(20);
    EXPECT_EQ(plan.Run({Make<float>({}, {0})}, options).status().code(),
              absl::StatusCode::kDeadlineExceeded);
    EXPECT_GE(absl::Now(), options.deadline);
  }
}

TEST(InterruptionTest, CancellingStopsBeforeTheNextNode) {
  const PlanTester plan(BuildChain);
  std::atomic<bool> cancel = false;
  std::vector<std::string> computed;
  RunOptions options;
  options.cancel = &cancel;
  options.observer = [&](absl::string_view name, const Tensor&) {
    computed.emplace_back(name);
    cancel = computed.size() == 2;
  };
  EXPECT_EQ(plan.Run({Square()}, options).status().code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(computed, ElementsAre("Exp", "Softmax"));
}

TEST(InterruptionTest, CancellingFromAnotherThreadEndsAnEndlessLoop) {
  for (const bool empty_body : {false, true}) {
    const PlanTester plan([&](GraphBuilder& b) { BuildEndlessLoop(b, empty_body); });
    std::atomic<bool> cancel = false;
    RunOptions options;
    options.cancel = &cancel;
    // If this test fails, the deadline still ends it.
    options.deadline = absl::Now() + absl::Seconds(60);
    std::thread other([&] {
      absl::SleepFor(absl::Milliseconds(5));
      cancel = true;
    });
    EXPECT_EQ(plan.Run({Make<float>({}, {0})}, options).status().code(),
              absl::StatusCode::kCancelled);
    other.join();
  }
}

// Cancels the run at the first allocation, which happens after the node has begun.
class CancellingAllocator final : public Allocator {
 public:
  explicit CancellingAllocator(std::atomic<bool>& cancel) : cancel_(cancel) {}

  absl::StatusOr<std::shared_ptr<void>> Allocate(size_t bytes) override {
    cancel_ = true;
    return Allocator::Heap().Allocate(bytes);
  }

 private:
  std::atomic<bool>& cancel_;
};

TEST(InterruptionTest, CancellingStopsWithinANode) {
  for (const int64_t threads : {1, 2}) {
    SetNumThreads(static_cast<int>(threads));
    const PlanTester plan([](GraphBuilder& b) {
      Value* x = b.Input("x", DataType::kFloat, {"n", "n"});
      b.Output(b.Op("MatMul", {x, x}));
    });
    std::atomic<bool> cancel = false;
    CancellingAllocator allocator(cancel);
    RunOptions options;
    options.cancel = &cancel;
    constexpr int64_t kSize = 256;
    const Tensor ones = Make<float>({kSize, kSize}, std::vector<float>(kSize * kSize, 1));
    EXPECT_EQ(plan.Run({ones}, options, allocator).status().code(), absl::StatusCode::kCancelled);
    cancel = false;
    EXPECT_EQ(plan.Run({ones}, options).value()[0].data<float>()[0], kSize);
  }
}

// Serves `served` requests, then fails as `fail` does.
class FailingAllocator final : public Allocator {
 public:
  FailingAllocator(int served, std::function<absl::Status()> fail)
      : left_(served), fail_(std::move(fail)) {}

  absl::StatusOr<std::shared_ptr<void>> Allocate(size_t bytes) override {
    if (left_-- > 0) return Allocator::Heap().Allocate(bytes);
    return fail_();
  }

 private:
  int left_;
  std::function<absl::Status()> fail_;
};

TEST(InterruptionTest, ARefusedAllocationAlwaysNamesTheNode) {
  for (const bool kernels : {false, true}) {
    const PlanTester plan(BuildChain, kernels);
    int served = 0;
    for (;; ++served) {
      FailingAllocator allocator(served, [] { return absl::ResourceExhaustedError("refused"); });
      const auto outputs = plan.Run({Square()}, {}, allocator);
      if (outputs.ok()) break;
      EXPECT_EQ(outputs.status().code(), absl::StatusCode::kResourceExhausted);
      EXPECT_THAT(Message(outputs.status()), AllOf(HasSubstr("node '"), HasSubstr("refused")));
    }
    EXPECT_GE(served, 2);
  }
}

TEST(InterruptionTest, TheErrorNamesTheNodeThatFailed) {
  const PlanTester plan(BuildChain);
  FailingAllocator allocator(0, [] { return absl::ResourceExhaustedError("refused"); });
  const Node* exp = plan.graph().FindValue("Exp")->producer();
  EXPECT_EQ(Message(plan.Run({Square()}, {}, allocator).status()),
            exp->description() + ": refused");
}

TEST(InterruptionTest, ExceptionsBecomeErrors) {
  for (const bool kernels : {false, true}) {
    const PlanTester plan(BuildChain, kernels);
    FailingAllocator no_memory(0, []() -> absl::Status { throw std::bad_alloc(); });
    EXPECT_EQ(plan.Run({Square()}, {}, no_memory).status().code(),
              absl::StatusCode::kResourceExhausted);
    FailingAllocator broken(0, []() -> absl::Status { throw std::runtime_error("broken"); });
    const absl::Status status = plan.Run({Square()}, {}, broken).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(Message(status), AllOf(HasSubstr("(Exp)"), HasSubstr("broken")));
  }
}

TEST(InterruptionTest, ExceptionsOfTheObserverBecomeErrorsToo) {
  const PlanTester plan(BuildChain);
  RunOptions options;
  options.observer = [](absl::string_view, const Tensor&) { throw std::runtime_error("observed"); };
  const absl::Status status = plan.Run({Square()}, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(Message(status), HasSubstr("observed"));
}

TEST(InterruptionTest, APlanThatFailedRunsAgain) {
  const PlanTester plan(BuildChain);
  const std::vector<Tensor> before = plan.Run({Square()}).value();
  FailingAllocator allocator(1, [] { return absl::ResourceExhaustedError("refused"); });
  ASSERT_FALSE(plan.Run({Square()}, {}, allocator).ok());
  ASSERT_FALSE(plan.Run({Make<float>({1, 2}, {1, 2})}).ok());
  ExpectClose(plan.Run({Square()}).value()[0], before[0], 0);
}

}  // namespace
}  // namespace attnrun::testing
