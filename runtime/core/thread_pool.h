// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_THREAD_POOL_H_
#define ATTNRUN_CORE_THREAD_POOL_H_

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"

namespace attnrun {

// Some threads that share the work of one caller at a time. They stay awake for some tens of
// microseconds after it, as the next piece of work often follows, then sleep.
class ThreadPool {
 public:
  // Starts threads - 1 threads, or as many as the system allows. They run as long as the process.
  explicit ThreadPool(int threads);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Calls body(piece) once for each piece in [0, pieces), on the calling thread and on those of the
  // pool, and returns when all have ended. Each thread has a run of pieces of its own, which it
  // takes in order, and then helps others from the end of theirs. The caller waits for no thread
  // that has not begun. The first exception that left a body is thrown again.
  void Run(int pieces, absl::FunctionRef<void(int)> body);

  // Whether the calling thread is within a body.
  static bool IsInside();

 private:
  // The pieces of a thread that nobody claimed: which work it is (32 bits), the first piece and the
  // end (16 each). One word, so that whoever wakes late can claim nothing of work that it did not
  // look at; on a line of its own, since each thread mostly looks at its own.
  struct alignas(64) Pieces {
    std::atomic<uint64_t> ticket = 0;
  };

  // `thread`: the number of the calling one, 0 being that of Run.
  void Serve(int thread);
  void Work(int thread);
  // The next piece of the current work, -1 if there is none.
  int Claim(int thread);

  const int num_threads_;
  const std::unique_ptr<Pieces[]> pieces_;
  // Counts the works; the threads sleep on it.
  std::atomic<uint32_t> works_ = 0;
  // Pieces that have not ended; the caller sleeps on it.
  std::atomic<int> unfinished_ = 0;
  const absl::FunctionRef<void(int)>* body_ = nullptr;
  std::mutex mutex_;
  std::exception_ptr exception_;
  std::vector<std::thread> threads_;
};

// A pool of so many threads that nobody else uses as long as this exists.
class ThreadPoolLease {
 public:
  explicit ThreadPoolLease(int threads);
  ~ThreadPoolLease();
  ThreadPoolLease(const ThreadPoolLease&) = delete;
  ThreadPoolLease& operator=(const ThreadPoolLease&) = delete;

  ThreadPool* operator->() const { return pool_; }

 private:
  const int threads_;
  ThreadPool* const pool_;
};

}  // namespace attnrun

#endif  // ATTNRUN_CORE_THREAD_POOL_H_
