// SPDX-License-Identifier: Apache-2.0
#include "execution/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "core/parallel.h"

namespace attnrun {
namespace {

using ::testing::ElementsAre;

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
  exec::Places places(1);
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
  exec::Places places(2);
  EXPECT_TRUE(Take(places).ok());
  EXPECT_TRUE(Take(places).ok());
  Interrupt late(absl::Now() + absl::Milliseconds(10), nullptr);
  EXPECT_EQ(places.Acquire(1, late).status().code(), absl::StatusCode::kDeadlineExceeded);
  places.Release(1);
  EXPECT_TRUE(Take(places).ok());
}

// Who gives up holds up nobody behind.
TEST(PlacesTest, ForgetsWhoGaveUp) {
  exec::Places places(1);
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
  exec::Places places(8);
  EXPECT_EQ(Taken(places, 5), 5);
  // The half of a half, since 3 are free.
  EXPECT_EQ(Taken(places, 8), 2);
  EXPECT_EQ(Taken(places, 8), 1);
}

TEST(PlacesTest, ThoseWhoWaitShareWhatBecomesFree) {
  exec::Places places(8);
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
  exec::Places places(8);
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

TEST(PlacesTest, ARunReleasesItsPlaces) {
  exec::Places places(2);
  Interrupt never;
  {
    exec::RunPlaces one(places, 1);
    ASSERT_TRUE(one.Acquire(never, 0).ok());
    exec::RunPlaces two(places, 2);
    ASSERT_TRUE(two.Acquire(never, 0).ok());
    EXPECT_EQ(two.held(), 1);
    exec::RunPlaces none(places, 1);
    EXPECT_FALSE(none.Acquire(never, 0).ok());
  }
  EXPECT_EQ(Taken(places, 2), 2);
}

TEST(PlacesTest, ARunSharesWithThoseWhoWait) {
  exec::Places places(4);
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
  exec::Places places(4);
  ASSERT_EQ(Taken(places, 2), 2);
  Interrupt never;
  exec::RunPlaces run(places, 4);
  ASSERT_TRUE(run.Acquire(never, 0).ok());
  EXPECT_EQ(run.held(), 2);
  places.Release(2);
  run.Adapt();
  EXPECT_EQ(run.held(), 4);
  EXPECT_EQ(NumThreads(), 4);
}

TEST(PlacesTest, RefusesToLetTooManyWait) {
  exec::Places places(1);
  ASSERT_TRUE(Take(places).ok());
  Interrupt never;
  EXPECT_EQ(places.Acquire(1, never, 0).status().code(), absl::StatusCode::kUnavailable);
  places.Release(1);
  EXPECT_TRUE(places.Acquire(1, never, 0).ok());
}

}  // namespace
}  // namespace attnrun
