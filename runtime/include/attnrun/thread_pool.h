// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_THREAD_POOL_H_
#define ATTNRUN_THREAD_POOL_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "attnrun/export.h"

namespace attnrun {

// Bounds the threads that compute at once, over all sessions that it is given to: see
// SessionOptions::thread_pool. A run takes up to Session::threads() of them, the calling thread
// among them, and waits for others if none is free, in the order in which runs of all these
// sessions came; then a thread of the pool computes it instead of the calling thread. Thread-safe.
// In a child made by fork() all threads are free, and new ones are started when a run needs them.
class ATTNRUN_EXPORT ThreadPool {
 public:
  // `threads` as many as the process may use by its CPU affinity and control group: 0 for all, and
  // greater numbers are cut. Starts them. The affinity of the calling thread holds for them.
  // kInvalidArgument: a negative number. kResourceExhausted: the system starts no more threads, or
  // memory runs out.
  static absl::StatusOr<std::shared_ptr<ThreadPool>> Make(int threads = 0);

  // The threads end with the last of the pool's owners and sessions.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // The most that compute at once, calling threads among them.
  int threads() const;

  // The runs that wait for others now.
  int64_t waiting() const;

 private:
  friend class Session;
  class Impl;
  explicit ThreadPool(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace attnrun

#endif  // ATTNRUN_THREAD_POOL_H_
