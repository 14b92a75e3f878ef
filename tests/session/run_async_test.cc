// SPDX-License-Identifier: Apache-2.0
// Session::RunAsync.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "attnrun/session.h"
#include "core/same_bits.h"
#include "loader/model_maker.h"
#include "session/in_child.h"
#include "session/occupant.h"
#include "session/square_product.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

TensorMap Inputs() {
  TensorMap inputs;
  inputs["x"] = *Tensor::Of<float>({2, 2}, {1, -2, 3, -4});
  return inputs;
}

// The result of one run.
class Result {
 public:
  RunCallback Receiver() {
    return [this](absl::StatusOr<TensorMap> outputs) { promise_.set_value(std::move(outputs)); };
  }
  absl::StatusOr<TensorMap> Get() { return promise_.get_future().get(); }

 private:
  std::promise<absl::StatusOr<TensorMap>> promise_;
};

class RunAsyncTest : public ::testing::Test {
 protected:
  absl::Status Start(Result& result, const RunOptions& options = {}) {
    return session_.RunAsync(Inputs(), result.Receiver(), options);
  }
  void AwaitWaiting(int64_t count) const {
    while (session_.Metrics().waiting != count) absl::SleepFor(absl::Microseconds(100));
  }

  const std::string bytes_ = SmallModel().SerializeAsString();
  Session session_ = Session::LoadBytes(bytes_).value();
};

TEST_F(RunAsyncTest, GivesWhatRunGivesOnAnotherThread) {
  const TensorMap expected = session_.Run(Inputs()).value();
  std::promise<std::thread::id> thread;
  TensorMap found;
  const absl::Status started = session_.RunAsync(Inputs(), [&](absl::StatusOr<TensorMap> outputs) {
    if (outputs.ok()) found = *std::move(outputs);
    thread.set_value(std::this_thread::get_id());
  });
  ASSERT_EQ(started, absl::OkStatus());
  EXPECT_NE(thread.get_future().get(), std::this_thread::get_id());
  ASSERT_EQ(found.size(), 1);
  EXPECT_TRUE(SameBits(found.at("y"), expected.at("y")));
}

TEST_F(RunAsyncTest, FillsTheBuffersOfTheCaller) {
  std::vector<float> y(4);
  const int64_t shape[] = {2, 2};
  TensorMap outputs;
  outputs["y"] =
      *Tensor::BorrowMutable(DataType::kFloat, shape, y.data(), y.size() * sizeof(float));
  Result result;
  ASSERT_EQ(session_.RunAsync(Inputs(), outputs, result.Receiver()), absl::OkStatus());
  const absl::StatusOr<TensorMap> given = result.Get();
  ASSERT_TRUE(given.ok()) << given.status();
  EXPECT_EQ(given->at("y").data<float>(), y.data());
  EXPECT_GT(y[0], 1);
}

TEST_F(RunAsyncTest, RefusesAtOnceWhatCannotRun) {
  int calls = 0;
  const auto count = [&](const absl::StatusOr<TensorMap>&) { ++calls; };
  const absl::Status missing = session_.RunAsync({}, count);
  EXPECT_EQ(missing, session_.Run({}).status());
  TensorMap wrong;
  wrong["z"];
  EXPECT_THAT(Message(session_.RunAsync(Inputs(), wrong, count)), HasSubstr("'z'"));
  RunOptions observed;
  observed.observer = [](absl::string_view, const Tensor&) {};
  EXPECT_THAT(Message(session_.RunAsync(Inputs(), count, observed)), HasSubstr("observed"));
  EXPECT_EQ(session_.RunAsync(Inputs(), nullptr).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(calls, 0);
  const SessionMetrics metrics = session_.Metrics();
  EXPECT_EQ(metrics.failed, 5);
  EXPECT_EQ(metrics.waiting, 0);
}

TEST_F(RunAsyncTest, AWaitingRunEndsInItsTurnWithItsReason) {
  Occupant occupant(session_, Inputs());
  std::atomic<bool> cancel = false;
  RunOptions cancelled;
  cancelled.cancel = &cancel;
  RunOptions late;
  late.deadline = absl::Now();
  Result first;
  Result second;
  Result third;
  ASSERT_EQ(Start(first, cancelled), absl::OkStatus());
  ASSERT_EQ(Start(second, late), absl::OkStatus());
  ASSERT_EQ(Start(third), absl::OkStatus());
  AwaitWaiting(3);
  cancel = true;
  EXPECT_EQ(occupant.Leave(), absl::OkStatus());
  EXPECT_EQ(first.Get().status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(second.Get().status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(third.Get().status(), absl::OkStatus());
  EXPECT_EQ(session_.Metrics().waiting, 0);
}

TEST_F(RunAsyncTest, RefusesMoreThanMayWait) {
  SessionOptions options;
  options.limits.waiting_runs = 1;
  session_ = Session::LoadBytes(bytes_, options).value();
  Occupant occupant(session_, Inputs());
  Result first;
  Result second;
  ASSERT_EQ(Start(first), absl::OkStatus());
  EXPECT_EQ(Start(second).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(session_.Metrics().refused, 1);
  EXPECT_EQ(occupant.Leave(), absl::OkStatus());
  EXPECT_EQ(first.Get().status(), absl::OkStatus());
}

TEST_F(RunAsyncTest, MayStartOthersFromWhatItCalls) {
  Result last;
  std::atomic<int> left = 50;
  RunCallback next;
  std::promise<absl::Status> inside;
  next = [&](const absl::StatusOr<TensorMap>& outputs) {
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    if (left-- == 50) inside.set_value(session_.Run(Inputs()).status());
    const absl::Status started = left > 0 ? session_.RunAsync(Inputs(), next) : Start(last);
    ASSERT_EQ(started, absl::OkStatus());
  };
  ASSERT_EQ(session_.RunAsync(Inputs(), next), absl::OkStatus());
  EXPECT_EQ(last.Get().status(), absl::OkStatus());
  // Would wait for itself.
  EXPECT_EQ(inside.get_future().get().code(), absl::StatusCode::kFailedPrecondition);
}

// A pool outlives its sessions, so a session has to wait by itself.
TEST_F(RunAsyncTest, TheSessionWaitsForItsRuns) {
  for (const bool has_pool : {false, true}) {
    SessionOptions options;
    if (has_pool) options.thread_pool = ThreadPool::Make(1).value();
    auto session = std::make_optional(Session::LoadBytes(bytes_, options).value());
    std::atomic<int> ended = 0;
    for (int i = 0; i < 20; ++i) {
      const auto count = [&](const absl::StatusOr<TensorMap>& outputs) {
        absl::SleepFor(absl::Milliseconds(1));
        ended += outputs.ok() ? 1 : 0;
      };
      ASSERT_EQ(session->RunAsync(Inputs(), count), absl::OkStatus());
    }
    session.reset();
    EXPECT_EQ(ended, 20);
  }
}

TEST_F(RunAsyncTest, AChildRunsAnewAndDoesNotWaitForRunsOfTheParent) {
  Result before;
  ASSERT_EQ(Start(before), absl::OkStatus());
  ASSERT_EQ(before.Get().status(), absl::OkStatus());
  EXPECT_TRUE(InChild([&] {
    Result result;
    return Start(result).ok() && result.Get().ok();
  }));
  auto session = std::make_unique<Session>(Session::LoadBytes(bytes_).value());
  Occupant occupant(*session, Inputs());
  Result result;
  ASSERT_EQ(session->RunAsync(Inputs(), result.Receiver()), absl::OkStatus());
  EXPECT_TRUE(InChild([&] {
    Result refused;
    const absl::Status status = session->RunAsync(Inputs(), refused.Receiver());
    session.reset();
    return status.code() == absl::StatusCode::kFailedPrecondition;
  }));
  EXPECT_EQ(occupant.Leave(), absl::OkStatus());
  EXPECT_EQ(result.Get().status(), absl::OkStatus());
}

// Runs on several threads beside runs that their callers wait for.
TEST_F(RunAsyncTest, ManyRunsGiveTheSameBits) {
  const std::string bytes = SquareProduct(64);
  const Session session = Session::LoadBytes(bytes).value();
  const TensorMap inputs = SquareOfOnes(64);
  const Tensor expected = session.Run(inputs)->at("y");
  std::atomic<int> same = 0;
  std::atomic<int> ended = 0;
  const auto compare = [&](const absl::StatusOr<TensorMap>& outputs) {
    if (outputs.ok() && SameBits(outputs->at("y"), expected)) ++same;
    ++ended;
  };
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int run = 0; run < 50; ++run) {
        EXPECT_EQ(session.RunAsync(inputs, compare), absl::OkStatus());
        if (run % 5 == 0) compare(session.Run(inputs));
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  while (ended < 4 * 60) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_EQ(same, 4 * 60);
}

// Counts what it gives.
class CountingAllocator final : public Allocator {
 public:
  absl::StatusOr<std::shared_ptr<void>> Allocate(size_t bytes) override {
    ++calls;
    if (fails) return absl::ResourceExhaustedError("no room");
    return Heap().Allocate(bytes);
  }
  std::atomic<int> calls = 0;
  std::atomic<bool> fails = false;
};

TEST(SessionAllocatorTest, GivesWhatRunsComputeAndOutlivesThem) {
  const std::string bytes = SquareProduct(64);
  auto allocator = std::make_shared<CountingAllocator>();
  const std::weak_ptr<CountingAllocator> alive = allocator;
  SessionOptions options;
  options.allocator = allocator;
  auto session = std::make_optional(Session::LoadBytes(bytes, options).value());
  const int loaded = allocator->calls;
  allocator->fails = true;
  const absl::Status failed = session->Run(SquareOfOnes(64)).status();
  EXPECT_EQ(failed.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(failed), HasSubstr("no room"));
  allocator->fails = false;
  auto outputs = session->Run(SquareOfOnes(64));
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_GT(allocator->calls, loaded + 1);
  allocator.reset();
  options.allocator.reset();
  session.reset();
  EXPECT_FALSE(alive.expired());
  outputs->clear();
  EXPECT_TRUE(alive.expired());
}

TEST(HeapLimitTest, BoundsTensorsOfTheProcess) {
  const int64_t before = HeapLimit();
  EXPECT_GT(before, 0);
  SetHeapLimit(1 << 20);
  const absl::Status refused = Tensor::Allocate(DataType::kUint8, {(1 << 20) + 1}).status();
  SetHeapLimit(int64_t{1} << 40);
  EXPECT_EQ(HeapLimit(), int64_t{1} << 40);
  EXPECT_TRUE(Tensor::Allocate(DataType::kUint8, {(1 << 20) + 1}).ok());
  SetHeapLimit(before);
  EXPECT_THAT(Message(refused), HasSubstr("of the limit of 1048576 bytes"));
}

}  // namespace
}  // namespace attnrun::testing
