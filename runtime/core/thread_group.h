// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_THREAD_GROUP_H_
#define ATTNRUN_CORE_THREAD_GROUP_H_

#include <atomic>
#include <cstdint>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"

namespace attnrun {

// A fixed set of threads that share the work of one caller at a time. After a Run they spin for
// some tens of microseconds, since the next Run often follows, and then sleep.
class ThreadGroup {
 public:
  // Starts threads - 1 threads, or as many as the system allows. They bear the name "attnrun" and
  // take no signals of the process.
  explicit ThreadGroup(int threads);
  // Ends the threads. No Run may be under way.
  ~ThreadGroup();
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;

  // Those that the system allowed, the caller of Run among them.
  int num_started() const { return static_cast<int>(threads_.size()) + 1; }

  // Calls body(piece) once for each piece in [0, pieces), on the calling thread and on those of the
  // group, and returns when all calls have ended. Each thread owns a run of pieces, works through
  // it in order, and then takes pieces from the end of other threads' runs. The caller never waits
  // for a thread that has not begun. Rethrows the first exception that left a body.
  void Run(int pieces, absl::FunctionRef<void(int)> body);

 private:
  // The unclaimed pieces of one thread: number of the Run (32 bits), first piece and end (16 bits
  // each). One word, so that a thread that wakes late cannot claim a piece of a Run it has not
  // seen. On a cache line of its own, since each thread mostly accesses its own.
  struct alignas(64) Pieces {
    std::atomic<uint64_t> ticket = 0;
  };

  void End();
  // `thread` is the number of the calling thread; the caller of Run is 0.
  void Serve(int thread);
  void Work(int thread);
  // The next piece of the current Run; -1 if there is none.
  int Claim(int thread);

  const int num_threads_;
  const std::unique_ptr<Pieces[]> pieces_;
  // Counts the Runs; the group's threads sleep on it.
  std::atomic<uint32_t> works_ = 0;
  std::atomic<bool> ended_ = false;
  // Pieces that have not ended; the caller of Run sleeps on it.
  std::atomic<int> unfinished_ = 0;
  const absl::FunctionRef<void(int)>* body_ = nullptr;
  std::mutex mutex_;
  std::exception_ptr exception_;
  std::vector<std::thread> threads_;
};

// The groups of one size in this process.
struct GroupsOfSize;

// A group of this many threads, for exclusive use while the lease exists. A child made by fork()
// gets new ones.
class ThreadGroupLease {
 public:
  explicit ThreadGroupLease(int threads);
  ~ThreadGroupLease();
  ThreadGroupLease(const ThreadGroupLease&) = delete;
  ThreadGroupLease& operator=(const ThreadGroupLease&) = delete;

  ThreadGroup* operator->() const { return group_.front().get(); }

 private:
  GroupsOfSize* of_size_ = nullptr;
  // One group, in the node that it has among the idle ones.
  std::list<std::unique_ptr<ThreadGroup>> group_;
};

// Groups wait for their next lease. When the last of the ThreadGroupUsers of one size is destroyed,
// the waiting groups of that size end.
class ThreadGroupUser {
 public:
  explicit ThreadGroupUser(int threads);
  ~ThreadGroupUser();
  ThreadGroupUser(const ThreadGroupUser&) = delete;
  ThreadGroupUser& operator=(const ThreadGroupUser&) = delete;

 private:
  const int threads_;
};

}  // namespace attnrun

#endif  // ATTNRUN_CORE_THREAD_GROUP_H_
