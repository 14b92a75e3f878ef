// SPDX-License-Identifier: Apache-2.0
#include "execution/places.h"

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

void AwaitWaiting(const exec::Places& places, int64_t count) {
  while (places.num_waiting() != count) absl::SleepFor(absl::Microseconds(100));
}

absl::Status Take(exec::Places& places) {
  Interrupt never;
  return places.Acquire(1, never).status();
}

// The places that a run gets that wants so many; 0 for an error.
int Taken(exec::Places& places, int wanted) {
  Interrupt never;
  return places.Acquire(wanted, never).value_or(0);
}

TEST(PlacesTest, LetsCallersInAsTheyCame) {
  exec::Places places(1, CpuSet());
  ASSERT_TRUE(Take(places).ok());
  // Guarded by the one place.
  std::vector<int> order;
  std::vector<std::thread> callers;
  for (int i = 0; i < 5; ++i) {
    callers.emplace_back([&, i] {
      EXPECT_TRUE(Take(places).ok());
      order.push_back(i);
      places.Release(1);
    });
    AwaitWaiting(places, i + 1);
  }
  places.Release(1);
  for (std::thread& caller : callers) caller.join();
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4));
}

TEST(PlacesTest, LetsInAsManyAsThereArePlaces) {
  exec::Places places(2, CpuSet());
  EXPECT_TRUE(Take(places).ok());
  EXPECT_TRUE(Take(places).ok());
  Interrupt late(absl::Now() + absl::Milliseconds(10), nullptr);
  EXPECT_EQ(places.Acquire(1, late).status().code(), absl::StatusCode::kDeadlineExceeded);
  places.Release(1);
  EXPECT_TRUE(Take(places).ok());
}

// Who gives up holds up nobody behind.
TEST(PlacesTest, ForgetsWhoGaveUp) {
  exec::Places places(1, CpuSet());
  ASSERT_TRUE(Take(places).ok());
  std::atomic<bool> cancel = false;
  std::thread first([&] {
    Interrupt interrupt(absl::InfiniteFuture(), &cancel);
    EXPECT_EQ(places.Acquire(1, interrupt).status().code(), absl::StatusCode::kCancelled);
  });
  AwaitWaiting(places, 1);
  std::thread second([&] { EXPECT_TRUE(Take(places).ok()); });
  AwaitWaiting(places, 2);
  cancel = true;
  first.join();
  places.Release(1);
  second.join();
  EXPECT_EQ(places.num_waiting(), 0);
}

TEST(PlacesTest, ARunTakesWhatIsFree) {
  exec::Places places(8, CpuSet());
  EXPECT_EQ(Taken(places, 5), 5);
  // The half of a half, since 3 are free.
  EXPECT_EQ(Taken(places, 8), 2);
  EXPECT_EQ(Taken(places, 8), 1);
}

TEST(PlacesTest, ThoseWhoWaitShareWhatBecomesFree) {
  exec::Places places(8, CpuSet());
  ASSERT_EQ(Taken(places, 8), 8);
  std::vector<int> taken(3);
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&, i] { taken[i] = Taken(places, 8); });
    AwaitWaiting(places, i + 1);
  }
  places.Release(8);
  for (std::thread& caller : callers) caller.join();
  // A third of 8, half of the 6 that are left, and the rest.
  EXPECT_THAT(taken, ElementsAre(2, 2, 4));
}

TEST(PlacesTest, ARunTakesWhatBecomesFree) {
  exec::Places places(8, CpuSet());
  ASSERT_EQ(Taken(places, 7), 7);
  const int held = Taken(places, 8);
  ASSERT_EQ(held, 1);
  EXPECT_EQ(places.Adapt(held, 8), 1);
  places.Release(2);
  EXPECT_EQ(places.Adapt(held, 8), 2);
  places.Release(5);
  EXPECT_EQ(places.Adapt(2, 8), 8);
  EXPECT_EQ(places.Adapt(8, 8), 8);
}

// Runs `body` with up to `wanted` places, waiting without end.
template <typename Body>
absl::Status RunIn(exec::Places& places, int wanted, bool here, Body body) {
  Interrupt never;
  return places.Run(wanted, never, exec::Places::kAnyNumber, here, [&](exec::RunPlaces& own) {
    body(own);
    return absl::OkStatus();
  });
}

TEST(PlacesTest, ARunReleasesItsPlaces) {
  exec::Places places(2, CpuSet());
  Interrupt never;
  const auto none = [&] {
    return places.Run(1, never, 0, false, [](auto&) { return absl::OkStatus(); });
  };
  const absl::Status status = RunIn(places, 1, false, [&](exec::RunPlaces& one) {
    EXPECT_EQ(one.held(), 1);
    EXPECT_EQ(RunIn(places, 2, false,
                    [&](exec::RunPlaces& two) {
                      EXPECT_EQ(two.held(), 1);
                      EXPECT_EQ(none().code(), absl::StatusCode::kUnavailable);
                    }),
              absl::OkStatus());
  });
  EXPECT_EQ(status, absl::OkStatus());
  EXPECT_EQ(Taken(places, 2), 2);
}

TEST(PlacesTest, ARunThatNeedNotWaitStaysOnItsThread) {
  exec::Places places(1, CpuSet());
  std::thread::id thread;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(RunIn(places, 1, false, [&](auto&) { thread = std::this_thread::get_id(); }).ok());
    EXPECT_EQ(thread, std::this_thread::get_id());
  }
}

// The thread of each of several runs that wait for one place.
std::vector<std::thread::id> ThreadsOfWaiting(exec::Places& places, bool here,
                                              std::vector<std::thread::id>& callers) {
  EXPECT_TRUE(Take(places).ok());
  std::vector<std::thread::id> threads;
  std::vector<std::thread> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.emplace_back([&] {
      EXPECT_TRUE(RunIn(places, 1, here, [&](auto&) {
                    threads.push_back(std::this_thread::get_id());
                  }).ok());
    });
    callers.push_back(waiting.back().get_id());
    AwaitWaiting(places, i + 1);
  }
  places.Release(1);
  for (std::thread& caller : waiting) caller.join();
  return threads;
}

TEST(PlacesTest, OneWorkerRunsAllThatWaitForItsPlace) {
  exec::Places places(1, CpuSet());
  std::vector<std::thread::id> callers;
  const std::vector<std::thread::id> threads = ThreadsOfWaiting(places, false, callers);
  ASSERT_EQ(threads.size(), 4);
  EXPECT_THAT(threads, Each(threads[0]));
  EXPECT_THAT(callers, Not(Contains(threads[0])));
  EXPECT_EQ(Taken(places, 1), 1);
}

TEST(PlacesTest, ARunMayHaveToStayOnItsThread) {
  exec::Places places(1, CpuSet());
  std::vector<std::thread::id> callers;
  EXPECT_EQ(ThreadsOfWaiting(places, true, callers), callers);
}

TEST(PlacesTest, ARunOfAWorkerKeepsItsStatus) {
  exec::Places places(1, CpuSet());
  Interrupt never;
  ASSERT_TRUE(Take(places).ok());
  std::thread caller([&] {
    EXPECT_EQ(places.Run(1, never, 1, false, [](auto&) { return absl::AbortedError("as it is"); }),
              absl::AbortedError("as it is"));
  });
  AwaitWaiting(places, 1);
  places.Release(1);
  caller.join();
}

TEST(PlacesTest, ARunThatGaveUpNeverBegins) {
  exec::Places places(1, CpuSet());
  ASSERT_TRUE(Take(places).ok());
  Interrupt late(absl::Now() + absl::Milliseconds(10), nullptr);
  bool has_run = false;
  const auto body = [&](auto&) {
    has_run = true;
    return absl::OkStatus();
  };
  EXPECT_EQ(places.Run(1, late, 1, false, body).code(), absl::StatusCode::kDeadlineExceeded);
  places.Release(1);
  EXPECT_EQ(Taken(places, 1), 1);
  EXPECT_FALSE(has_run);
}

TEST(PlacesTest, AWorkerRunsWhatNobodyWaitsFor) {
  std::vector<int> order;
  std::vector<std::thread::id> threads;
  {
    exec::Places places(1, CpuSet());
    ASSERT_TRUE(Take(places).ok());
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(places.Post(1, 3,
                            [&, i](exec::RunPlaces& own) {
                              order.push_back(i);
                              threads.push_back(std::this_thread::get_id());
                              EXPECT_EQ(own.held(), 1);
                            }),
                absl::OkStatus());
    }
    EXPECT_EQ(places.num_waiting(), 3);
    const auto never_called = [&](exec::RunPlaces&) { order.push_back(3); };
    EXPECT_EQ(places.Post(1, 3, never_called).code(), absl::StatusCode::kUnavailable);
    places.Release(1);
  }
  EXPECT_THAT(order, ElementsAre(0, 1, 2));
  EXPECT_THAT(threads, Each(threads[0]));
  EXPECT_NE(threads[0], std::this_thread::get_id());
}

// A thread of the program may be bound to one CPU. Others do not follow it there.
TEST(PlacesTest, WorkersHaveTheCpusOfThePlaces) {
  const CpuSet all;
  exec::Places places(1, all);
  ASSERT_TRUE(Take(places).ok());
  int cpus = 0;
  std::thread caller([&] {
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(sched_getcpu(), &first);
    ASSERT_EQ(sched_setaffinity(0, sizeof(first), &first), 0);
    EXPECT_TRUE(RunIn(places, 1, false, [&](auto&) { cpus = CpuSet().count(); }).ok());
  });
  AwaitWaiting(places, 1);
  places.Release(1);
  caller.join();
  EXPECT_EQ(cpus, all.count());
}

TEST(PlacesTest, ARunSharesWithThoseWhoWait) {
  exec::Places places(4, CpuSet());
  ASSERT_EQ(Taken(places, 4), 4);
  std::thread other([&] { EXPECT_EQ(Taken(places, 4), 2); });
  AwaitWaiting(places, 1);
  EXPECT_EQ(places.Adapt(4, 4), 2);
  other.join();
  EXPECT_EQ(places.num_waiting(), 0);
  // Nobody waits, and none is free.
  EXPECT_EQ(places.Adapt(2, 4), 2);
  std::thread third([&] { EXPECT_EQ(Taken(places, 4), 1); });
  AwaitWaiting(places, 1);
  EXPECT_EQ(places.Adapt(2, 4), 1);
  third.join();
}

TEST(PlacesTest, AdaptingGivesARunMoreThreads) {
  exec::Places places(4, CpuSet());
  ASSERT_EQ(Taken(places, 2), 2);
  const absl::Status status = RunIn(places, 4, false, [&](exec::RunPlaces& run) {
    EXPECT_EQ(run.held(), 2);
    places.Release(2);
    run.Adapt();
    EXPECT_EQ(run.held(), 4);
    EXPECT_EQ(NumThreads(), 4);
  });
  EXPECT_EQ(status, absl::OkStatus());
  EXPECT_EQ(Taken(places, 4), 4);
}

TEST(PlacesTest, RefusesToLetTooManyWait) {
  exec::Places places(1, CpuSet());
  ASSERT_TRUE(Take(places).ok());
  Interrupt never;
  EXPECT_EQ(places.Acquire(1, never, 0).status().code(), absl::StatusCode::kUnavailable);
  places.Release(1);
  EXPECT_TRUE(places.Acquire(1, never, 0).ok());
}

}  // namespace
}  // namespace attnrun
