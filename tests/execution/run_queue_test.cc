// SPDX-License-Identifier: Apache-2.0
#include "execution/run_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "core/cpu_set.h"
#include "core/parallel.h"

namespace attnrun {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Not;

void AwaitWaiting(const exec::RunQueue& queue, int64_t count) {
  while (queue.num_waiting() != count) absl::SleepFor(absl::Microseconds(100));
}

absl::Status Take(exec::RunQueue& queue) {
  Interrupt never;
  return queue.Acquire(1, never).status();
}

// The queue that a run gets that wants so many; 0 for an error.
int Taken(exec::RunQueue& queue, int wanted) {
  Interrupt never;
  return queue.Acquire(wanted, never).value_or(0);
}

TEST(RunQueueTest, LetsCallersInAsTheyCame) {
  exec::RunQueue queue(1, CpuSet());
  ASSERT_TRUE(Take(queue).ok());
  // Guarded by the one place.
  std::vector<int> order;
  std::vector<std::thread> callers;
  for (int i = 0; i < 5; ++i) {
    callers.emplace_back([&, i] {
      EXPECT_TRUE(Take(queue).ok());
      order.push_back(i);
      queue.Release(1);
    });
    AwaitWaiting(queue, i + 1);
  }
  queue.Release(1);
  for (std::thread& caller : callers) caller.join();
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4));
}

TEST(RunQueueTest, LetsInAsManyAsThereArePermits) {
  exec::RunQueue queue(2, CpuSet());
  EXPECT_TRUE(Take(queue).ok());
  EXPECT_TRUE(Take(queue).ok());
  Interrupt late(absl::Now() + absl::Milliseconds(10), nullptr);
  EXPECT_EQ(queue.Acquire(1, late).status().code(), absl::StatusCode::kDeadlineExceeded);
  queue.Release(1);
  EXPECT_TRUE(Take(queue).ok());
}

// Who gives up holds up nobody behind.
TEST(RunQueueTest, ForgetsWhoGaveUp) {
  exec::RunQueue queue(1, CpuSet());
  ASSERT_TRUE(Take(queue).ok());
  std::atomic<bool> cancel = false;
  std::thread first([&] {
    Interrupt interrupt(absl::InfiniteFuture(), &cancel);
    EXPECT_EQ(queue.Acquire(1, interrupt).status().code(), absl::StatusCode::kCancelled);
  });
  AwaitWaiting(queue, 1);
  std::thread second([&] { EXPECT_TRUE(Take(queue).ok()); });
  AwaitWaiting(queue, 2);
  cancel = true;
  first.join();
  queue.Release(1);
  second.join();
  EXPECT_EQ(queue.num_waiting(), 0);
}

TEST(RunQueueTest, ARunTakesWhatIsFree) {
  exec::RunQueue queue(8, CpuSet());
  EXPECT_EQ(Taken(queue, 5), 5);
  // The half of a half, since 3 are free.
  EXPECT_EQ(Taken(queue, 8), 2);
  EXPECT_EQ(Taken(queue, 8), 1);
}

TEST(RunQueueTest, ThoseWhoWaitShareWhatBecomesFree) {
  exec::RunQueue queue(8, CpuSet());
  ASSERT_EQ(Taken(queue, 8), 8);
  std::vector<int> taken(3);
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&, i] { taken[i] = Taken(queue, 8); });
    AwaitWaiting(queue, i + 1);
  }
  queue.Release(8);
  for (std::thread& caller : callers) caller.join();
  // A third of 8, half of the 6 that are left, and the rest.
  EXPECT_THAT(taken, ElementsAre(2, 2, 4));
}

TEST(RunQueueTest, ARunTakesWhatBecomesFree) {
  exec::RunQueue queue(8, CpuSet());
  ASSERT_EQ(Taken(queue, 7), 7);
  const int held = Taken(queue, 8);
  ASSERT_EQ(held, 1);
  EXPECT_EQ(queue.Adapt(held, 8), 1);
  queue.Release(2);
  EXPECT_EQ(queue.Adapt(held, 8), 2);
  queue.Release(5);
  EXPECT_EQ(queue.Adapt(2, 8), 8);
  EXPECT_EQ(queue.Adapt(8, 8), 8);
}

// Runs `body` with up to `wanted` queue, waiting without end.
template <typename Body>
absl::Status RunIn(exec::RunQueue& queue, int wanted, bool here, Body body) {
  Interrupt never;
  return queue.Run(wanted, never, exec::RunQueue::kAnyNumber, here, [&](exec::RunPermits& own) {
    body(own);
    return absl::OkStatus();
  });
}

TEST(RunQueueTest, ARunReleasesItsPermits) {
  exec::RunQueue queue(2, CpuSet());
  Interrupt never;
  const auto none = [&] {
    return queue.Run(1, never, 0, false, [](auto&) { return absl::OkStatus(); });
  };
  const absl::Status status = RunIn(queue, 1, false, [&](exec::RunPermits& one) {
    EXPECT_EQ(one.held(), 1);
    EXPECT_EQ(RunIn(queue, 2, false,
                    [&](exec::RunPermits& two) {
                      EXPECT_EQ(two.held(), 1);
                      EXPECT_EQ(none().code(), absl::StatusCode::kUnavailable);
                    }),
              absl::OkStatus());
  });
  EXPECT_EQ(status, absl::OkStatus());
  EXPECT_EQ(Taken(queue, 2), 2);
}

TEST(RunQueueTest, ARunThatNeedNotWaitStaysOnItsThread) {
  exec::RunQueue queue(1, CpuSet());
  std::thread::id thread;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(RunIn(queue, 1, false, [&](auto&) { thread = std::this_thread::get_id(); }).ok());
    EXPECT_EQ(thread, std::this_thread::get_id());
  }
}

// The thread of each of several runs that wait for one place.
std::vector<std::thread::id> ThreadsOfWaiting(exec::RunQueue& queue, bool here,
                                              std::vector<std::thread::id>& callers) {
  EXPECT_TRUE(Take(queue).ok());
  std::vector<std::thread::id> threads;
  std::vector<std::thread> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.emplace_back([&] {
      EXPECT_TRUE(RunIn(queue, 1, here, [&](auto&) {
                    threads.push_back(std::this_thread::get_id());
                  }).ok());
    });
    callers.push_back(waiting.back().get_id());
    AwaitWaiting(queue, i + 1);
  }
  queue.Release(1);
  for (std::thread& caller : waiting) caller.join();
  return threads;
}

TEST(RunQueueTest, OneWorkerRunsAllThatWaitForItsPermit) {
  exec::RunQueue queue(1, CpuSet());
  std::vector<std::thread::id> callers;
  const std::vector<std::thread::id> threads = ThreadsOfWaiting(queue, false, callers);
  ASSERT_EQ(threads.size(), 4);
  EXPECT_THAT(threads, Each(threads[0]));
  EXPECT_THAT(callers, Not(Contains(threads[0])));
  EXPECT_EQ(Taken(queue, 1), 1);
}

TEST(RunQueueTest, ARunMayHaveToStayOnItsThread) {
  exec::RunQueue queue(1, CpuSet());
  std::vector<std::thread::id> callers;
  EXPECT_EQ(ThreadsOfWaiting(queue, true, callers), callers);
}

TEST(RunQueueTest, ARunOfAWorkerKeepsItsStatus) {
  exec::RunQueue queue(1, CpuSet());
  Interrupt never;
  ASSERT_TRUE(Take(queue).ok());
  std::thread caller([&] {
    EXPECT_EQ(queue.Run(1, never, 1, false, [](auto&) { return absl::AbortedError("as it is"); }),
              absl::AbortedError("as it is"));
  });
  AwaitWaiting(queue, 1);
  queue.Release(1);
  caller.join();
}

TEST(RunQueueTest, ARunThatGaveUpNeverBegins) {
  exec::RunQueue queue(1, CpuSet());
  ASSERT_TRUE(Take(queue).ok());
  Interrupt late(absl::Now() + absl::Milliseconds(10), nullptr);
  bool has_run = false;
  const auto body = [&](auto&) {
    has_run = true;
    return absl::OkStatus();
  };
  EXPECT_EQ(queue.Run(1, late, 1, false, body).code(), absl::StatusCode::kDeadlineExceeded);
  queue.Release(1);
  EXPECT_EQ(Taken(queue, 1), 1);
  EXPECT_FALSE(has_run);
}

TEST(RunQueueTest, AWorkerRunsWhatNobodyWaitsFor) {
  std::vector<int> order;
  std::vector<std::thread::id> threads;
  {
    exec::RunQueue queue(1, CpuSet());
    ASSERT_TRUE(Take(queue).ok());
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(queue.Post(1, 3,
                           [&, i](exec::RunPermits& own) {
                             order.push_back(i);
                             threads.push_back(std::this_thread::get_id());
                             EXPECT_EQ(own.held(), 1);
                           }),
                absl::OkStatus());
    }
    EXPECT_EQ(queue.num_waiting(), 3);
    const auto never_called = [&](exec::RunPermits&) { order.push_back(3); };
    EXPECT_EQ(queue.Post(1, 3, never_called).code(), absl::StatusCode::kUnavailable);
    queue.Release(1);
  }
  EXPECT_THAT(order, ElementsAre(0, 1, 2));
  EXPECT_THAT(threads, Each(threads[0]));
  EXPECT_NE(threads[0], std::this_thread::get_id());
}

// A thread of the program may be bound to one CPU. Others do not follow it there.
TEST(RunQueueTest, WorkersHaveTheCpusOfTheQueue) {
  const CpuSet all;
  exec::RunQueue queue(1, all);
  ASSERT_TRUE(Take(queue).ok());
  int cpus = 0;
  std::thread caller([&] {
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(sched_getcpu(), &first);
    ASSERT_EQ(sched_setaffinity(0, sizeof(first), &first), 0);
    EXPECT_TRUE(RunIn(queue, 1, false, [&](auto&) { cpus = CpuSet().count(); }).ok());
  });
  AwaitWaiting(queue, 1);
  queue.Release(1);
  caller.join();
  EXPECT_EQ(cpus, all.count());
}

TEST(RunQueueTest, ARunSharesWithThoseWhoWait) {
  exec::RunQueue queue(4, CpuSet());
  ASSERT_EQ(Taken(queue, 4), 4);
  std::thread other([&] { EXPECT_EQ(Taken(queue, 4), 2); });
  AwaitWaiting(queue, 1);
  EXPECT_EQ(queue.Adapt(4, 4), 2);
  other.join();
  EXPECT_EQ(queue.num_waiting(), 0);
  // Nobody waits, and none is free.
  EXPECT_EQ(queue.Adapt(2, 4), 2);
  std::thread third([&] { EXPECT_EQ(Taken(queue, 4), 1); });
  AwaitWaiting(queue, 1);
  EXPECT_EQ(queue.Adapt(2, 4), 1);
  third.join();
}

TEST(RunQueueTest, AdaptingGivesARunMoreThreads) {
  exec::RunQueue queue(4, CpuSet());
  ASSERT_EQ(Taken(queue, 2), 2);
  const absl::Status status = RunIn(queue, 4, false, [&](exec::RunPermits& run) {
    EXPECT_EQ(run.held(), 2);
    queue.Release(2);
    run.Adapt();
    EXPECT_EQ(run.held(), 4);
    EXPECT_EQ(NumThreads(), 4);
  });
  EXPECT_EQ(status, absl::OkStatus());
  EXPECT_EQ(Taken(queue, 4), 4);
}

TEST(RunQueueTest, RefusesToLetTooManyWait) {
  exec::RunQueue queue(1, CpuSet());
  ASSERT_TRUE(Take(queue).ok());
  Interrupt never;
  EXPECT_EQ(queue.Acquire(1, never, 0).status().code(), absl::StatusCode::kUnavailable);
  queue.Release(1);
  EXPECT_TRUE(queue.Acquire(1, never, 0).ok());
}

}  // namespace
}  // namespace attnrun
