// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_SEMAPHORE_H_
#define ATTNRUN_EXECUTION_SEMAPHORE_H_

#include <cstdint>
#include <deque>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "core/interrupt.h"

namespace attnrun::exec {

// A counting semaphore that admits callers in order of arrival; a deadline or a cancel flag ends
// the wait. It limits the concurrent runs of a session to as many as the CPUs have room for.
// Thread-safe.
class Semaphore {
 public:
  explicit Semaphore(int places) : free_(places) {}

  // Waits for a free place and takes it, until Release. On kCancelled and kDeadlineExceeded, as
  // `interrupt` says, no place was taken.
  absl::Status Acquire(Interrupt& interrupt);
  void Release();

  // The number of callers that are waiting.
  int64_t num_waiting() const;

 private:
  // Waits for `patience` at most; true if a place is free and caller `number` is first in line.
  // Numbers ascend from front to back of waiting_.
  bool AwaitTurn(int64_t number, absl::Duration patience) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  int free_ ABSL_GUARDED_BY(mutex_);
  int64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<int64_t> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_SEMAPHORE_H_
