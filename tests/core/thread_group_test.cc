// SPDX-License-Identifier: Apache-2.0
#include "core/thread_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/parallel.h"

namespace attnrun {
namespace {

using ::testing::Each;

// The CPU time that all threads of this process have used.
double CpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// The threads of this process under the name of those of a group. A thread that was joined is
// listed for a moment longer.
int64_t NumTeamThreads() {
  int64_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::ifstream(task.path() / "comm") >> name;
    count += name == "attnrun" ? 1 : 0;
  }
  return count;
}
void AwaitTeamThreads(int64_t count) {
  for (int i = 0; i < 1000 && NumTeamThreads() != count; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(NumTeamThreads(), count);
}

TEST(ThreadGroupTest, RunsEveryPieceOnce) {
  for (const int threads : {1, 2, 5}) {
    ThreadGroup group(threads);
    for (int pieces = 0; pieces < 300; ++pieces) {
      std::vector<int> calls(pieces, 0);
      group.Run(pieces, [&](int piece) { ++calls[piece]; });
      EXPECT_THAT(calls, Each(1));
    }
  }
}

TEST(ThreadGroupTest, AThreadRunsItsOwnPiecesInOrderThenOthersFromTheEnd) {
  ThreadGroup group(2);
  const std::thread::id caller = std::this_thread::get_id();
  std::vector<int> taken;
  std::atomic<int> ended = 0;
  group.Run(8, [&](int piece) {
    if (std::this_thread::get_id() == caller) {
      taken.push_back(piece);
    } else {
      // This thread's first piece lasts until the caller has done all other pieces.
      while (ended < 7) std::this_thread::yield();
    }
    ++ended;
  });
  // The other thread may not have started at all.
  std::vector<int> expected = {0, 1, 2, 3, 7, 6, 5, 4};
  expected.resize(taken.size());
  EXPECT_GE(taken.size(), 7);
  EXPECT_EQ(taken, expected);
}

TEST(ThreadGroupTest, WakesAfterSleeping) {
  ThreadGroup group(3);
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::atomic<int> sum = 0;
    group.Run(3, [&](int piece) { sum += piece; });
    EXPECT_EQ(sum, 3);
  }
}

TEST(ThreadGroupTest, SleepsWhenThereIsNothingToDo) {
  ThreadGroup group(4);
  group.Run(4, [](int) {});
  const double before = CpuSeconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  // Three threads that spin all the time would use 0.2 s or more.
  EXPECT_LT(CpuSeconds() - before, 0.05);
}

TEST(ThreadGroupTest, AnExceptionIsThrownAfterAllPiecesHaveEnded) {
  ThreadGroup group(3);
  for (int thrower = 0; thrower < 8; ++thrower) {
    std::atomic<int> ended = 0;
    EXPECT_THROW(group.Run(8,
                           [&](int piece) {
                             if (piece == thrower) throw std::runtime_error("thrown");
                             ++ended;
                           }),
                 std::runtime_error);
    EXPECT_EQ(ended, 7);
  }
  std::atomic<int> ended = 0;
  group.Run(8, [&](int) { ++ended; });
  EXPECT_EQ(ended, 8);
}

TEST(ParallelForTest, CoversTheRangeForAnyNumberOfThreads) {
  const int before = NumThreads();
  for (const int threads : {1, 2, 3, 7}) {
    SetNumThreads(threads);
    for (const int64_t count : {0, 1, 6, 100}) {
      std::vector<int> calls(count, 0);
      ParallelFor(count, 1, [&](int64_t begin, int64_t end) {
        // A nested ParallelFor runs its whole range inline.
        ParallelFor(end - begin, 1, [&](int64_t first, int64_t last) {
          EXPECT_EQ(last - first, end - begin);
          for (int64_t i = begin; i < end; ++i) ++calls[i];
        });
      });
      EXPECT_THAT(calls, Each(1));
    }
  }
  SetNumThreads(before);
}

TEST(ParallelForTest, ASlowThreadLeavesRangesToTheOthers) {
  const int before = NumThreads();
  SetNumThreads(2);
  const int64_t ranges = NumRanges(100, 1);
  EXPECT_GT(ranges, 2);
  std::atomic<int64_t> ended = 0;
  ParallelFor(100, 1, [&](int64_t begin, int64_t) {
    // The thread with the first range finishes it only after all other ranges.
    const auto start = std::chrono::steady_clock::now();
    while (begin == 0 && ended < ranges - 1 &&
           std::chrono::steady_clock::now() - start < std::chrono::seconds(10)) {
      std::this_thread::yield();
    }
    EXPECT_TRUE(begin != 0 || ended == ranges - 1);
    ++ended;
  });
  EXPECT_EQ(ended, ranges);
  SetNumThreads(before);
}

// Kernels then choose the form for one thread.
TEST(ParallelForTest, ABodyHasOneThread) {
  SetNumThreads(3);
  std::vector<int> threads(6);
  ParallelFor(6, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) threads[i] = NumThreads();
  });
  EXPECT_THAT(threads, Each(1));
  EXPECT_EQ(NumThreads(), 3);
}

TEST(ParallelForTest, EveryThreadGetsTheSameNumberOfRanges) {
  const int before = NumThreads();
  SetNumThreads(2);
  EXPECT_EQ(NumRanges(1, 10), 1);
  EXPECT_EQ(NumRanges(15, 10), 2);
  EXPECT_EQ(NumRanges(35, 10), 4);
  EXPECT_EQ(NumRanges(50, 10), 4);
  EXPECT_EQ(NumRanges(1 << 20, 1), 2 * kRangesPerThread);
  SetNumThreads(1);
  EXPECT_EQ(NumRanges(1 << 20, 1), 1);
  SetNumThreads(before);
}

TEST(ParallelForTest, ThreadsEndWithTheLastUserOfTheirTeam) {
  // No other test has a group of this size.
  constexpr int kThreads = 13;
  const int before = NumThreads();
  const int64_t others = NumTeamThreads();
  {
    const ThreadGroupUser first(kThreads);
    {
      const ThreadGroupUser second(kThreads);
      SetNumThreads(kThreads);
      ParallelFor(1 << 10, 1, [](int64_t, int64_t) {});
    }
    // The first user may need them again.
    AwaitTeamThreads(others + kThreads - 1);
  }
  AwaitTeamThreads(others);
  SetNumThreads(before);
}

TEST(ParallelForTest, CallersDoNotShareATeam) {
  std::vector<std::thread> callers;
  callers.reserve(4);
  std::atomic<int64_t> total = 0;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      SetNumThreads(2);
      for (int i = 0; i < 200; ++i) {
        std::atomic<int64_t> sum = 0;
        ParallelFor(50, 1, [&](int64_t begin, int64_t end) {
          for (int64_t j = begin; j < end; ++j) sum += j;
        });
        total += sum;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 4 * 200 * 1225);
}

}  // namespace
}  // namespace attnrun
