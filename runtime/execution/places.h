// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_SEMAPHORE_H_
#define ATTNRUN_EXECUTION_SEMAPHORE_H_

#include <condition_variable>
#include <cstdint>
#include <limits>
#include <list>
#include <mutex>

#include "absl/status/status.h"
#include "core/interrupt.h"

namespace attnrun::exec {

// A counting semaphore that admits callers in order of arrival; a deadline or a cancel flag ends
// the wait. It limits concurrent runs to as many as the CPUs have room for. Thread-safe.
class Semaphore {
 public:
  static constexpr int64_t kAnyNumber = std::numeric_limits<int64_t>::max();

  explicit Semaphore(int places) : free_(places) {}

  // Waits for `places` free places, of at most as many as there are, and takes them, until Release.
  // No place was taken on kCancelled and kDeadlineExceeded, as `interrupt` says, and on kUnavailable:
  // the caller would have to wait, and `most_waiting` others do so already.
  absl::Status Acquire(int places, Interrupt& interrupt, int64_t most_waiting = kAnyNumber);
  void Release(int places);

  // The number of callers that are waiting.
  int64_t num_waiting() const;

 private:
  struct Waiter {
    explicit Waiter(int wanted) : places(wanted) {}
    const int places;
    bool admitted = false;
    std::condition_variable turn;
  };

  // Gives free places to those who wait, the first in line first.
  void Admit();

  mutable std::mutex mutex_;
  int free_;
  // In order of arrival.
  std::list<Waiter> waiting_;
  // Have their places, but have not woken.
  std::list<Waiter> admitted_;
};

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_SEMAPHORE_H_
