// SPDX-License-Identifier: Apache-2.0
#include "execution/semaphore.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace attnrun::exec {

absl::Status Semaphore::Acquire(Interrupt& interrupt) {
  const absl::MutexLock lock(&mutex_);
  const int64_t number = ++last_number_;
  waiting_.push_back(number);
  bool is_turn = AwaitTurn(number, absl::ZeroDuration());
  while (!is_turn && !interrupt.Check()) is_turn = AwaitTurn(number, interrupt.Patience());
  waiting_.erase(std::lower_bound(waiting_.begin(), waiting_.end(), number));
  if (is_turn) {
    --free_;
    return absl::OkStatus();
  }
  const absl::Status found = interrupt.status();
  return {found.code(), absl::StrCat(found.message(), " while it waited for others")};
}

void Semaphore::Release() {
  const absl::MutexLock lock(&mutex_);
  ++free_;
}

int64_t Semaphore::num_waiting() const {
  const absl::MutexLock lock(&mutex_);
  return static_cast<int64_t>(waiting_.size());
}

bool Semaphore::AwaitTurn(int64_t number, absl::Duration patience) {
  const auto is_turn = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return free_ > 0 && waiting_.front() == number;
  };
  return mutex_.AwaitWithTimeout(absl::Condition(&is_turn), patience);
}

}  // namespace attnrun::exec
