// SPDX-License-Identifier: Apache-2.0
#include "core/interrupt.h"

#include "absl/time/clock.h"

namespace attnrun {
namespace {

thread_local Interrupt* current_interrupt = nullptr;

}  // namespace

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

InterruptScope::InterruptScope(Interrupt* interrupt) : previous_(current_interrupt) {
  current_interrupt = interrupt;
}
InterruptScope::~InterruptScope() { current_interrupt = previous_; }

Interrupt* CurrentInterrupt() { return current_interrupt; }

bool Interrupted() { return current_interrupt != nullptr && current_interrupt->Check(); }

}  // namespace attnrun
