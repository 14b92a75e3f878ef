// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_SEMAPHORE_H_
#define ATTNRUN_EXECUTION_SEMAPHORE_H_

#include <cstdint>
#include <deque>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "attnrun/run_options.h"

namespace attnrun::exec {

// Keeps callers x threads within the CPUs: so many runs at once, the others sleep and begin in the
// order in which they came, so that none waits for more than those before it.
class Semaphore {
 public:
  explicit Semaphore(int places) : free_(places) {}

  // Returns when a place is the caller's, until Leave. kCancelled and kDeadlineExceeded as
  // `options` say; there is nothing to leave then.
  absl::Status Acquire(const RunOptions& options);
  void Release();

  // Callers that wait.
  int64_t num_waiting() const;

 private:
  // Whether there is a place for the caller of that number by then. Numbers ascend from front to
  // back of waiting_.
  bool AwaitTurn(int64_t number, absl::Time time) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  int free_ ABSL_GUARDED_BY(mutex_);
  int64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<int64_t> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_SEMAPHORE_H_
