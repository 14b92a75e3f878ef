// SPDX-License-Identifier: Apache-2.0
#include "core/interrupt.h"

#include <utility>

#include "absl/time/clock.h"
#include "core/thread_context.h"

namespace attnrun {

bool Interrupt::Check() {
  if (found_.load(std::memory_order_relaxed) != absl::StatusCode::kOk) return true;
  if (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed)) {
    found_ = absl::StatusCode::kCancelled;
    return true;
  }
  // Reading the clock takes as long as a small operator, so it is skipped without a deadline.
  if (deadline_ != absl::InfiniteFuture() && absl::Now() > deadline_) {
    found_ = absl::StatusCode::kDeadlineExceeded;
    return true;
  }
  return false;
}

absl::Status Interrupt::status() const {
  switch (found_.load()) {
    case absl::StatusCode::kOk:
      return absl::OkStatus();
    case absl::StatusCode::kCancelled:
      return absl::CancelledError("the run was cancelled");
    default:
      return absl::DeadlineExceededError("the run passed its deadline");
  }
}

InterruptScope::InterruptScope(Interrupt* interrupt)
    : previous_(std::exchange(CurrentThread().interrupt, interrupt)) {}
InterruptScope::~InterruptScope() { CurrentThread().interrupt = previous_; }

bool Interrupted() {
  Interrupt* const interrupt = CurrentThread().interrupt;
  return interrupt != nullptr && interrupt->Check();
}

}  // namespace attnrun
