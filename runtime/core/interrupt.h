// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_INTERRUPT_H_
#define ATTNRUN_CORE_INTERRUPT_H_

#include <atomic>
#include <chrono>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace attnrun {

// Two reasons to end a run early: a deadline and a cancel flag. Thread-safe.
class Interrupt {
 public:
  // Never ends a run.
  Interrupt() = default;
  // `cancel` may be null; it is only read. The time left is taken from the wall clock now; from
  // here on it is a steady clock's, so that setting the wall clock ends no run.
  Interrupt(absl::Time deadline, const std::atomic<bool>* cancel);

  // Checks the flag and the clock. Once true, stays true even if the flag is reset, because kernels
  // may have skipped work.
  bool Check();

  // OK, or the result of an earlier Check: kCancelled or kDeadlineExceeded.
  absl::Status status() const;

  // The longest that a thread may sleep before it calls Check: until the deadline, and only some
  // milliseconds if there is a cancel flag, since setting it wakes nobody. Not negative.
  absl::Duration Patience() const;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::time_point kNever = Clock::time_point::max();

  const Clock::time_point deadline_ = kNever;
  const std::atomic<bool>* const cancel_ = nullptr;
  std::atomic<absl::StatusCode> found_ = absl::StatusCode::kOk;
};

// Makes `interrupt` (may be null) the one that Interrupted() checks, on this thread and on the
// threads that ParallelFor uses for it, while the scope exists.
class InterruptScope {
 public:
  explicit InterruptScope(Interrupt* interrupt);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  Interrupt* const previous_;
};

// True if the calling kernel may skip the rest of its work, because nobody will read the result.
// May read the clock: call it between pieces of work of at least some microseconds.
bool Interrupted();

}  // namespace attnrun

#endif  // ATTNRUN_CORE_INTERRUPT_H_
