// SPDX-License-Identifier: Apache-2.0
#include "execution/semaphore.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace attnrun::exec {

absl::Status Semaphore::Acquire(int places, Interrupt& interrupt, int64_t most_waiting) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (waiting_.empty() && free_ >= places) {
    free_ -= places;
    return absl::OkStatus();
  }
  if (static_cast<int64_t>(waiting_.size()) >= most_waiting) {
    return absl::UnavailableError(absl::StrCat("the run cannot wait for others: ", waiting_.size(),
                                               " do, which is the limit"));
  }
  const auto me = waiting_.emplace(waiting_.end(), places);
  while (!me->admitted && !interrupt.Check()) {
    const absl::Duration patience = interrupt.Patience();
    if (patience == absl::InfiniteDuration()) {
      me->turn.wait(lock);
    } else {
      me->turn.wait_for(lock, absl::ToChronoNanoseconds(patience));
    }
  }
  if (me->admitted) {
    admitted_.erase(me);
    return absl::OkStatus();
  }
  waiting_.erase(me);
  // Those behind may need fewer places.
  Admit();
  const absl::Status found = interrupt.status();
  return {found.code(), absl::StrCat(found.message(), " while it waited for others")};
}

void Semaphore::Release(int places) {
  const std::lock_guard<std::mutex> lock(mutex_);
  free_ += places;
  Admit();
}

int64_t Semaphore::num_waiting() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int64_t>(waiting_.size());
}

void Semaphore::Admit() {
  while (!waiting_.empty() && waiting_.front().places <= free_) {
    Waiter& next = waiting_.front();
    free_ -= next.places;
    next.admitted = true;
    next.turn.notify_one();
    admitted_.splice(admitted_.end(), waiting_, waiting_.begin());
  }
}

}  // namespace attnrun::exec
