// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "attnrun/session.h"
#include "session/in_child.h"
#include "session/occupant.h"
#include "session/square_product.h"

// Sessions in a child made by fork().
namespace attnrun::testing {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRows = 512;

// Large enough for two threads.
std::string Product() { return SquareProduct(kRows); }
TensorMap Inputs() { return SquareOfOnes(kRows); }

Session Load(const std::string& bytes) {
  SessionOptions options;
  options.threads = 2;
  return Session::LoadBytes(bytes, options).value();
}

int64_t Threads() {
  return std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator());
}

TEST(ForkTest, AnIdleSessionRunsInAChildOnAllItsThreads) {
  const std::string bytes = Product();
  const Session session = Load(bytes);
  const TensorMap inputs = Inputs();
  ASSERT_TRUE(session.Run(inputs).ok());
  EXPECT_GE(Threads(), 2);
  EXPECT_TRUE(
      InChild([&] { return Threads() == 1 && session.Run(inputs).ok() && Threads() == 2; }));
  EXPECT_TRUE(session.Run(inputs).ok());
}

// Workers ran it: the child does not have them.
TEST(ForkTest, AChildMayRunWhatManyThreadsRan) {
  const std::string bytes = Product();
  const Session session = Load(bytes);
  const TensorMap inputs = Inputs();
  const auto run_on_threads = [&] {
    std::atomic<int> ok = 0;
    std::vector<std::thread> callers;
    for (int i = 0; i < 8; ++i) {
      callers.emplace_back([&] { ok += session.Run(inputs).ok() ? 1 : 0; });
    }
    for (std::thread& caller : callers) caller.join();
    return ok == 8;
  };
  EXPECT_TRUE(run_on_threads());
  EXPECT_TRUE(InChild(run_on_threads));
  EXPECT_TRUE(run_on_threads());
}

TEST(ForkTest, ASessionThatRanDuringTheForkRefusesTheChild) {
  const std::string bytes = Product();
  const Session session = Load(bytes);
  const TensorMap inputs = Inputs();
  Occupant runner(session, inputs);
  EXPECT_TRUE(InChild([&] {
    return session.Run(inputs).status().code() == absl::StatusCode::kFailedPrecondition;
  }));
  EXPECT_TRUE(InChild([&] { return Load(bytes).Run(inputs).ok(); }));
  EXPECT_TRUE(runner.Leave().ok());
  EXPECT_TRUE(session.Run(inputs).ok());
}

}  // namespace
}  // namespace attnrun::testing
