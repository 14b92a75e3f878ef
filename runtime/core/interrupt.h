// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_INTERRUPT_H_
#define ATTNRUN_CORE_INTERRUPT_H_

#include <atomic>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace attnrun {

// Two reasons to end a run early: a deadline and a cancel flag. Thread-safe.
class Interrupt {
 public:
  // `cancel` may be null; it is only read.
  Interrupt(absl::Time deadline, const std::atomic<bool>* cancel)
      : deadline_(deadline), cancel_(cancel) {}

  // Checks the flag and the clock. Once true, stays true even if the flag is reset, because kernels
  // may have skipped work.
  bool Check();

  // OK, or the result of an earlier Check: kCancelled or kDeadlineExceeded.
  absl::Status status() const;

 private:
  const absl::Time deadline_;
  const std::atomic<bool>* const cancel_;
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
