// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_RUN_QUEUE_H_
#define ATTNRUN_EXECUTION_RUN_QUEUE_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/cpu_set.h"
#include "core/interrupt.h"
#include "core/thread_group.h"

namespace attnrun::exec {

// Keeps thread groups of each number of threads that a run of up to `threads` may get: that number,
// its half, and so on, to 1. Few sizes, because each has groups of its own.
class ShareGroups {
 public:
  explicit ShareGroups(int threads);

 private:
  std::list<ThreadGroupUser> users_;
};

class RunPermits;

// Permits for threads that compute, as many as there are CPUs for them. Runs get them in order of
// arrival, and share them while there are several, since many runs on one thread each compute more
// than one run after another on all threads, and a short one need not wait for a long one.
// Thread-safe.
class RunQueue {
 public:
  static constexpr int64_t kAnyNumber = std::numeric_limits<int64_t>::max();
  // Computes a run, which has these permits. Does not throw.
  using Body = absl::FunctionRef<absl::Status(RunPermits&)>;
  // The same, for a run that nobody waits for.
  using Task = std::function<void(RunPermits&)>;

  // Its workers run on these CPUs, and groups that are started for runs.
  RunQueue(int permits, const CpuSet& cpus);
  // Ends its workers. No run may be under way.
  ~RunQueue();
  RunQueue(const RunQueue&) = delete;
  RunQueue& operator=(const RunQueue&) = delete;

  // Waits for a free permit and takes at least one and at most `wanted`: the largest of the shares
  // of `wanted` that leaves one for each of those who wait. Returns how many, until Release. None
  // was taken on kCancelled and kDeadlineExceeded, as `interrupt` says, and on kUnavailable: the
  // caller would have to wait, and `most_waiting` others do so already.
  absl::StatusOr<int> Acquire(int wanted, Interrupt& interrupt, int64_t most_waiting = kAnyNumber);

  // Calls `body` with permits as Acquire takes them, and releases them; returns its status, or that
  // of Acquire. If a permit is free, the calling thread computes. If it has to wait, a worker does
  // unless `here`: a worker goes from one run to the next at once, while a caller that was woken
  // would be queued behind the threads that compute.
  absl::Status Run(int wanted, Interrupt& interrupt, int64_t most_waiting, bool here, Body body);

  // Leaves `task` to a worker, which gets permits as Acquire takes them. On an error it is never
  // called: kUnavailable as Acquire gives it, kResourceExhausted if the system starts no thread.
  absl::Status Post(int wanted, int64_t most_waiting, Task task);

  // For a run that has `held` of `wanted` permits: gives up half of several if somebody waits, or
  // takes more, up to a larger share, if so many are free. Returns how many it has now. Cheap if
  // there is nothing to do.
  int Adapt(int held, int wanted);

  void Release(int permits);

  const CpuSet& cpus() const { return cpus_; }
  // The number of runs that are waiting.
  int64_t num_waiting() const { return num_waiting_; }

 private:
  struct Waiter {
    Waiter(int most, const Body* run, Task posted)
        : wanted(most), body(run), task(std::move(posted)) {}
    // Nobody waits for it.
    bool is_posted() const { return task != nullptr; }

    const int wanted;
    // Null if the waiting thread computes, or nobody waits.
    const Body* const body;
    const Task task;
    // 0 while it waits.
    int admitted = 0;
    // The waiting thread may go on.
    bool is_ready = false;
    // A worker has run the body, with this result.
    bool has_run = false;
    absl::Status result;
    std::condition_variable turn;
  };
  using Waiters = std::list<Waiter>;

  struct Entry {
    // 0: a worker has run the body.
    int permits = 0;
    absl::Status result;
  };

  // Waits for permits, or until a worker has run `body` if it is not null.
  absl::StatusOr<Entry> Enter(int wanted, Interrupt& interrupt, int64_t most_waiting,
                              const Body* body);
  bool MustWait() const { return free_ <= 0 || !waiting_.empty(); }
  // Puts a run in line. kUnavailable, as Acquire gives it.
  absl::Status Enqueue(int wanted, int64_t most_waiting, const Body* body, Task task);
  // Waits until the last in line is ready.
  absl::StatusOr<Waiters::iterator> Await(std::unique_lock<std::mutex>& lock, Interrupt& interrupt);
  // Gives free permits to those who wait, the first in line first. So many workers will look for a
  // run without being woken.
  void Admit(size_t awake = 0);
  // Finds workers for the runs that have permits. Without one, who waits computes; posted runs are
  // left to the workers that there are.
  void CallWorkers(size_t awake);
  // True if there are enough workers now.
  bool StartWorker();
  // The life of a worker.
  void Work();

  const CpuSet cpus_;
  std::mutex mutex_;
  // Both numbers are written under the mutex.
  std::atomic<int> free_;
  std::atomic<int> num_waiting_ = 0;
  // In order of arrival.
  Waiters waiting_;
  // Have their permits, and wait for a worker.
  Waiters for_workers_;
  // Have their permits, and compute or have not woken.
  Waiters admitted_;

  // At most one for each permit; started when they are needed.
  std::vector<std::thread> workers_;
  // Those that sleep or are about to look for a run.
  size_t idle_workers_ = 0;
  bool ended_ = false;
  std::condition_variable work_;
};

// The permits of one run. On the thread of the run, which has as many threads as permits.
class RunPermits {
 public:
  // `held` are acquired.
  RunPermits(RunQueue& queue, int wanted, int held) : queue_(queue), wanted_(wanted), held_(held) {}
  // Called between nodes: shares its permits and threads with those who wait, or takes free ones.
  void Adapt();

  int held() const { return held_; }

 private:
  RunQueue& queue_;
  const int wanted_;
  int held_;
};

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_RUN_QUEUE_H_
