// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_PENDING_RUNS_H_
#define ATTNRUN_RUNTIME_PENDING_RUNS_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace attnrun {

// Counts the runs of Session::RunAsync that have not ended. Thread-safe.
class PendingRuns {
 public:
  void Add() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++count_;
  }
  void Remove() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--count_ == 0) none_.notify_all();
  }
  void AwaitNone() {
    std::unique_lock<std::mutex> lock(mutex_);
    none_.wait(lock, [this] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  int64_t count_ = 0;
};

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_PENDING_RUNS_H_
