// SPDX-License-Identifier: Apache-2.0
#include "execution/turnstile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "absl/time/clock.h"

namespace attnrun {
namespace {

using ::testing::ElementsAre;

void AwaitWaiting(const exec::Turnstile& turnstile, int64_t count) {
  while (turnstile.num_waiting() != count) absl::SleepFor(absl::Microseconds(100));
}

TEST(TurnstileTest, LetsCallersInInOrderOfArrival) {
  exec::Turnstile turnstile(1);
  ASSERT_TRUE(turnstile.Enter({}).ok());
  // Only the caller that was let in touches this.
  std::vector<int> order;
  std::vector<std::thread> callers;
  for (int i = 0; i < 5; ++i) {
    callers.emplace_back([&, i] {
      EXPECT_TRUE(turnstile.Enter({}).ok());
      order.push_back(i);
      turnstile.Leave();
    });
    AwaitWaiting(turnstile, i + 1);
  }
  turnstile.Leave();
  for (std::thread& caller : callers) caller.join();
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4));
}

TEST(TurnstileTest, LetsInAsManyAsThereArePlaces) {
  exec::Turnstile turnstile(2);
  EXPECT_TRUE(turnstile.Enter({}).ok());
  EXPECT_TRUE(turnstile.Enter({}).ok());
  RunOptions options;
  options.deadline = absl::Now() + absl::Milliseconds(10);
  EXPECT_EQ(turnstile.Enter(options).code(), absl::StatusCode::kDeadlineExceeded);
  turnstile.Leave();
  EXPECT_TRUE(turnstile.Enter({}).ok());
}

// A caller that gives up does not block the callers behind it.
TEST(TurnstileTest, ForgetsCallersThatGaveUp) {
  exec::Turnstile turnstile(1);
  ASSERT_TRUE(turnstile.Enter({}).ok());
  std::atomic<bool> cancel = false;
  std::thread first([&] {
    RunOptions options;
    options.cancel = &cancel;
    EXPECT_EQ(turnstile.Enter(options).code(), absl::StatusCode::kCancelled);
  });
  AwaitWaiting(turnstile, 1);
  std::thread second([&] { EXPECT_TRUE(turnstile.Enter({}).ok()); });
  AwaitWaiting(turnstile, 2);
  cancel = true;
  first.join();
  turnstile.Leave();
  second.join();
  EXPECT_EQ(turnstile.num_waiting(), 0);
}

}  // namespace
}  // namespace attnrun
