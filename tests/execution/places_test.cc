// SPDX-License-Identifier: Apache-2.0
#include "execution/semaphore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "absl/time/clock.h"

namespace attnrun {
namespace {

using ::testing::ElementsAre;

void AwaitWaiting(const exec::Semaphore& semaphore, int64_t count) {
  while (semaphore.num_waiting() != count) absl::SleepFor(absl::Microseconds(100));
}

absl::Status Take(exec::Semaphore& semaphore) {
  Interrupt never;
  return semaphore.Acquire(1, never);
}

TEST(SemaphoreTest, LetsCallersInAsTheyCame) {
  exec::Semaphore semaphore(1);
  ASSERT_TRUE(Take(semaphore).ok());
  // Guarded by the one place.
  std::vector<int> order;
  std::vector<std::thread> callers;
  for (int i = 0; i < 5; ++i) {
    callers.emplace_back([&, i] {
      EXPECT_TRUE(Take(semaphore).ok());
      order.push_back(i);
      semaphore.Release(1);
    });
    AwaitWaiting(semaphore, i + 1);
  }
  semaphore.Release(1);
  for (std::thread& caller : callers) caller.join();
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4));
}

TEST(SemaphoreTest, LetsInAsManyAsThereArePlaces) {
  exec::Semaphore semaphore(2);
  EXPECT_TRUE(Take(semaphore).ok());
  EXPECT_TRUE(Take(semaphore).ok());
  Interrupt late(absl::Now() + absl::Milliseconds(10), nullptr);
  EXPECT_EQ(semaphore.Acquire(1, late).code(), absl::StatusCode::kDeadlineExceeded);
  semaphore.Release(1);
  EXPECT_TRUE(Take(semaphore).ok());
}

// Who gives up holds up nobody behind.
TEST(SemaphoreTest, ForgetsWhoGaveUp) {
  exec::Semaphore semaphore(1);
  ASSERT_TRUE(Take(semaphore).ok());
  std::atomic<bool> cancel = false;
  std::thread first([&] {
    Interrupt interrupt(absl::InfiniteFuture(), &cancel);
    EXPECT_EQ(semaphore.Acquire(1, interrupt).code(), absl::StatusCode::kCancelled);
  });
  AwaitWaiting(semaphore, 1);
  std::thread second([&] { EXPECT_TRUE(Take(semaphore).ok()); });
  AwaitWaiting(semaphore, 2);
  cancel = true;
  first.join();
  semaphore.Release(1);
  second.join();
  EXPECT_EQ(semaphore.num_waiting(), 0);
}

TEST(SemaphoreTest, ManyPlacesAreWaitedForInOrder) {
  exec::Semaphore semaphore(2);
  ASSERT_TRUE(Take(semaphore).ok());
  Interrupt never;
  std::thread both([&] { EXPECT_TRUE(semaphore.Acquire(2, never).ok()); });
  AwaitWaiting(semaphore, 1);
  // One place is free, but it is not this caller's turn.
  Interrupt late(absl::Now() + absl::Milliseconds(5), nullptr);
  EXPECT_EQ(semaphore.Acquire(1, late).code(), absl::StatusCode::kDeadlineExceeded);
  semaphore.Release(1);
  both.join();
  semaphore.Release(2);
}

TEST(SemaphoreTest, WhoGivesUpMakesRoomForThoseBehind) {
  exec::Semaphore semaphore(2);
  ASSERT_TRUE(Take(semaphore).ok());
  std::atomic<bool> cancel = false;
  Interrupt interrupt(absl::InfiniteFuture(), &cancel);
  std::thread both(
      [&] { EXPECT_EQ(semaphore.Acquire(2, interrupt).code(), absl::StatusCode::kCancelled); });
  AwaitWaiting(semaphore, 1);
  std::thread behind([&] { EXPECT_TRUE(Take(semaphore).ok()); });
  AwaitWaiting(semaphore, 2);
  cancel = true;
  both.join();
  behind.join();
}

TEST(SemaphoreTest, RefusesToLetTooManyWait) {
  exec::Semaphore semaphore(1);
  ASSERT_TRUE(Take(semaphore).ok());
  Interrupt never;
  EXPECT_EQ(semaphore.Acquire(1, never, 0).code(), absl::StatusCode::kUnavailable);
  semaphore.Release(1);
  EXPECT_TRUE(semaphore.Acquire(1, never, 0).ok());
}

}  // namespace
}  // namespace attnrun
