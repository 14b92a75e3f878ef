// SPDX-License-Identifier: Apache-2.0
#include "attnrun/thread_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "absl/time/clock.h"
#include "attnrun/session.h"
#include "core/same_bits.h"
#include "session/in_child.h"
#include "session/occupant.h"
#include "session/square_product.h"

// Sessions that share a pool of threads.
namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kRows = 256;

// Large enough for two threads.
std::string Product(char byte) { return SquareProduct(kRows, byte); }
TensorMap Inputs() { return SquareOfOnes(kRows); }

absl::StatusOr<Session> Load(const std::string& bytes, std::shared_ptr<ThreadPool> pool,
                             int threads = 0) {
  SessionOptions options;
  options.thread_pool = std::move(pool);
  options.threads = threads;
  return Session::LoadBytes(bytes, options);
}

TEST(ThreadPoolTest, HasAsManyThreadsAsTheProcessMayUse) {
  const auto all = ThreadPool::Make();
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_GE((*all)->threads(), 1);
  EXPECT_EQ((*ThreadPool::Make(1))->threads(), 1);
  EXPECT_EQ((*ThreadPool::Make(1'000'000))->threads(), (*all)->threads());
  EXPECT_EQ(ThreadPool::Make(-1).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ThreadPoolTest, SaysHowManyThreadsASessionHas) {
  const std::string bytes = Product('\x3e');
  const auto pool = ThreadPool::Make(1).value();
  EXPECT_EQ(Load(bytes, pool)->threads(), 1);
  const absl::Status status = Load(bytes, pool, 2).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("expected 0 to 1 threads, as the pool has, but found 2"));
}

TEST(ThreadPoolTest, RunsOfDifferentSessionsWaitForEachOther) {
  const std::string bytes = Product('\x3e');
  const auto pool = ThreadPool::Make().value();
  const auto first = Load(bytes, pool);
  const auto second = Load(bytes, pool);
  Occupant occupant(*first, Inputs());
  RunOptions late;
  late.deadline = absl::Now() + absl::Milliseconds(20);
  const absl::Status status = second->Run(Inputs(), late).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status), HasSubstr("waited for others"));
  EXPECT_EQ(pool->waiting(), 0);
  EXPECT_EQ(occupant.Leave(), absl::OkStatus());
  EXPECT_EQ(second->Run(Inputs()).status(), absl::OkStatus());
}

TEST(ThreadPoolTest, AnObserverIsCalledByItsCallerAfterWaiting) {
  const auto pool = ThreadPool::Make(1).value();
  const std::string bytes = Product('\x3e');
  const auto session = Load(bytes, pool);
  Occupant occupant(*session, Inputs());
  std::thread caller([&] {
    RunOptions options;
    int calls = 0;
    options.observer = [&, me = std::this_thread::get_id()](absl::string_view, const Tensor&) {
      EXPECT_EQ(std::this_thread::get_id(), me);
      ++calls;
      return absl::OkStatus();
    };
    EXPECT_TRUE(session->Run(Inputs(), options).ok());
    EXPECT_GT(calls, 0);
  });
  while (pool->waiting() == 0) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_EQ(occupant.Leave(), absl::OkStatus());
  caller.join();
}

TEST(ThreadPoolTest, AnObserverMayRunAnotherSessionOfThePool) {
  const auto pool = ThreadPool::Make().value();
  const auto first = Load(Product('\x3e'), pool);
  const std::string bytes = Product('\x3f');
  const auto second = Load(bytes, pool);
  const Tensor expected = second->Run(Inputs())->at("y");
  bool same = false;
  RunOptions options;
  options.observer = [&](absl::string_view, const Tensor&) {
    same = SameBits(second->Run(Inputs())->at("y"), expected);
  };
  EXPECT_EQ(first->Run(Inputs(), options).status(), absl::OkStatus());
  EXPECT_TRUE(same);
}

TEST(ThreadPoolTest, NoMoreThreadsComputeThanThePoolHas) {
  const auto pool = ThreadPool::Make().value();
  std::vector<std::string> models;
  std::vector<Session> sessions;
  for (const char byte : {'\x3d', '\x3e', '\x3f'}) models.push_back(Product(byte));
  for (const std::string& bytes : models) sessions.push_back(Load(bytes, pool, 1).value());
  std::vector<Tensor> expected;
  for (const Session& session : sessions) expected.push_back(session.Run(Inputs())->at("y"));

  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  std::atomic<int> wrong = 0;
  const auto call = [&](int caller) {
    RunOptions options;
    options.observer = [&](absl::string_view, const Tensor&) {
      const int now = ++running;
      int before = most;
      while (now > before && !most.compare_exchange_weak(before, now)) {
      }
      absl::SleepFor(absl::Microseconds(200));
      --running;
    };
    for (int i = 0; i < 20; ++i) {
      const size_t model = (caller + i) % sessions.size();
      const auto outputs = sessions[model].Run(Inputs(), options);
      if (!outputs.ok() || !SameBits(outputs->at("y"), expected[model])) ++wrong;
    }
  };
  std::vector<std::thread> callers;
  callers.reserve(6);
  for (int caller = 0; caller < 6; ++caller) callers.emplace_back(call, caller);
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(most, pool->threads());
}

// While a thread of the parent has the pool's places.
TEST(ThreadPoolTest, AllThreadsAreFreeInAForkedChild) {
  const std::string bytes = Product('\x3e');
  const auto pool = ThreadPool::Make().value();
  const auto busy = Load(bytes, pool);
  const auto idle = Load(bytes, pool);
  Occupant occupant(*busy, Inputs());
  EXPECT_TRUE(InChild([&] {
    return idle->Run(Inputs()).ok() &&
           busy->Run(Inputs()).status().code() == absl::StatusCode::kFailedPrecondition;
  }));
  EXPECT_EQ(occupant.Leave(), absl::OkStatus());
}

}  // namespace
}  // namespace attnrun::testing
