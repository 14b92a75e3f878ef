// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_INTERRUPT_H_
#define ATTNRUN_CORE_INTERRUPT_H_

#include <atomic>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace attnrun {

// What may end a run before its time: a deadline and a flag. Safe from many threads.
class Interrupt {
 public:
  // `cancel` may be null, and is only read.
  Interrupt(absl::Time deadline, const std::atomic<bool>* cancel)
      : deadline_(deadline), cancel_(cancel) {}

  // Looks at the flag and the clock. Once true, it stays so, whatever becomes of the flag: work may
  // have been left out.
  bool Check();

  // OK, or what an earlier Check found: kCancelled or kDeadlineExceeded.
  absl::Status status() const;

 private:
  const absl::Time deadline_;
  const std::atomic<bool>* const cancel_;
  std::atomic<absl::StatusCode> found_ = absl::StatusCode::kOk;
};

// While it exists, `interrupt` (may be null) is what Interrupted() asks on this thread, and on
// those that ParallelFor employs for it.
class InterruptScope {
 public:
  explicit InterruptScope(Interrupt* interrupt);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  Interrupt* const previous_;
};

// The interrupt of this thread's scope, null if there is none.
Interrupt* CurrentInterrupt();

// Whether the kernel that asks may leave the rest of its work out, as nobody will read what it
// computes. To be asked between pieces of some microseconds at least: it may read the clock.
bool Interrupted();

}  // namespace attnrun

#endif  // ATTNRUN_CORE_INTERRUPT_H_
