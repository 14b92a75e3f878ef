// SPDX-License-Identifier: Apache-2.0
#include "execution/semaphore.h"

#include <algorithm>
#include <atomic>

#include "absl/time/clock.h"

namespace attnrun::exec {
namespace {

// Setting the cancel flag wakes nobody, so a waiting caller checks it every few milliseconds.
absl::Time WakeUp(const RunOptions& options) {
  constexpr absl::Duration kPatience = absl::Milliseconds(5);
  if (options.cancel == nullptr) return options.deadline;
  return std::min(options.deadline, absl::Now() + kPatience);
}

// kCancelled or kDeadlineExceeded if the caller should stop waiting, otherwise OK.
absl::Status GiveUp(const RunOptions& options) {
  if (options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed)) {
    return absl::CancelledError("the run was cancelled while it waited for others");
  }
  if (absl::Now() >= options.deadline) {
    return absl::DeadlineExceededError("the run passed its deadline while it waited for others");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Semaphore::Acquire(const RunOptions& options) {
  const absl::MutexLock lock(&mutex_);
  const int64_t number = ++last_number_;
  waiting_.push_back(number);
  absl::Status status;
  while (status.ok() && !AwaitTurn(number, WakeUp(options))) status = GiveUp(options);
  waiting_.erase(std::lower_bound(waiting_.begin(), waiting_.end(), number));
  if (status.ok()) --free_;
  return status;
}

void Semaphore::Release() {
  const absl::MutexLock lock(&mutex_);
  ++free_;
}

int64_t Semaphore::num_waiting() const {
  const absl::MutexLock lock(&mutex_);
  return static_cast<int64_t>(waiting_.size());
}

bool Semaphore::AwaitTurn(int64_t number, absl::Time time) {
  const auto is_turn = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return free_ > 0 && waiting_.front() == number;
  };
  return mutex_.AwaitWithDeadline(absl::Condition(&is_turn), time);
}

}  // namespace attnrun::exec
