// SPDX-License-Identifier: Apache-2.0
#include "core/interrupt.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "core/thread_context.h"

namespace attnrun {
namespace {

// A year stands for ever: the sum with the steady clock's time must not overflow.
std::chrono::nanoseconds TimeLeft(absl::Time deadline) {
  constexpr absl::Duration kYear = absl::Hours(24 * 365);
  return absl::ToChronoNanoseconds(std::clamp(deadline - absl::Now(), -kYear, kYear));
}

}  // namespace

Interrupt::Interrupt(absl::Time deadline, const std::atomic<bool>* cancel)
    : deadline_(deadline == absl::InfiniteFuture() ? kNever : Clock::now() + TimeLeft(deadline)),
      cancel_(cancel) {}

bool Interrupt::Check() {
  if (found_.load(std::memory_order_relaxed) != absl::StatusCode::kOk) return true;
  if (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed)) {
    found_ = absl::StatusCode::kCancelled;
    return true;
  }
  // Reading the clock takes as long as a small operator, so it is skipped without a deadline.
  if (deadline_ != kNever && Clock::now() >= deadline_) {
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

absl::Duration Interrupt::Patience() const {
  constexpr absl::Duration kPatience = absl::Milliseconds(5);
  absl::Duration left = absl::InfiniteDuration();
  if (deadline_ != kNever) {
    left = std::max(absl::FromChrono(deadline_ - Clock::now()), absl::ZeroDuration());
  }
  return cancel_ == nullptr ? left : std::min(left, kPatience);
}

InterruptScope::InterruptScope(Interrupt* interrupt)
    : previous_(std::exchange(CurrentThread().interrupt, interrupt)) {}
InterruptScope::~InterruptScope() { CurrentThread().interrupt = previous_; }

bool Interrupted() {
  Interrupt* const interrupt = CurrentThread().interrupt;
  return interrupt != nullptr && interrupt->Check();
}

}  // namespace attnrun
