// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_RUNNING_THREADS_H_
#define ATTNRUN_EXECUTION_RUNNING_THREADS_H_

#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"

namespace attnrun::exec {

// The threads that run a session. An observer that runs its session again would wait for the place
// that its own run has. Thread-safe.
class RunningThreads {
 public:
  // Adds the calling thread until it leaves; false if it is there already.
  bool Enter() {
    const absl::MutexLock lock(&mutex_);
    return threads_.insert(std::this_thread::get_id()).second;
  }
  void Leave() {
    const absl::MutexLock lock(&mutex_);
    threads_.erase(std::this_thread::get_id());
  }

 private:
  absl::Mutex mutex_;
  absl::flat_hash_set<std::thread::id> threads_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_RUNNING_THREADS_H_
