// SPDX-License-Identifier: Apache-2.0
#include "execution/places.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/parallel.h"
#include "core/status.h"

namespace attnrun::exec {
namespace {

// The largest share of `wanted` that is at most `most`, or 1.
int ShareOf(int wanted, int most) {
  while (wanted > std::max(most, 1)) wanted /= 2;
  return wanted;
}

}  // namespace

ShareTeams::ShareTeams(int threads) {
  for (int share = threads; share > 0; share /= 2) users_.emplace_back(share);
}

absl::StatusOr<int> Places::Acquire(int wanted, Interrupt& interrupt, int64_t most_waiting) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (waiting_.empty() && free_ > 0) {
    const int share = ShareOf(wanted, free_);
    free_ -= share;
    return share;
  }
  if (static_cast<int64_t>(waiting_.size()) >= most_waiting) {
    return absl::UnavailableError(absl::StrCat("the run cannot wait for others: ", waiting_.size(),
                                               " do, which is the limit"));
  }
  const auto me = waiting_.emplace(waiting_.end(), wanted);
  ++num_waiting_;
  while (me->admitted == 0 && !interrupt.Check()) {
    const absl::Duration patience = interrupt.Patience();
    if (patience == absl::InfiniteDuration()) {
      me->turn.wait(lock);
    } else {
      me->turn.wait_for(lock, absl::ToChronoNanoseconds(patience));
    }
  }
  if (me->admitted > 0) {
    const int share = me->admitted;
    admitted_.erase(me);
    return share;
  }
  waiting_.erase(me);
  --num_waiting_;
  const absl::Status found = interrupt.status();
  return absl::Status(found.code(), absl::StrCat(found.message(), " while it waited for others"));
}

int Places::Adapt(int held, int wanted) {
  const bool others_wait = num_waiting_.load(std::memory_order_relaxed) > 0;
  const bool none_free = free_.load(std::memory_order_relaxed) == 0;
  if (others_wait ? held == 1 : held == wanted || none_free) return held;
  const std::lock_guard<std::mutex> lock(mutex_);
  const int share = ShareOf(wanted, waiting_.empty() ? held + free_ : held / 2);
  free_ -= share - held;
  Admit();
  return share;
}

void Places::Release(int places) {
  const std::lock_guard<std::mutex> lock(mutex_);
  free_ += places;
  Admit();
}

void Places::Admit() {
  while (!waiting_.empty() && free_ > 0) {
    Waiter& next = waiting_.front();
    next.admitted = ShareOf(next.wanted, free_ / static_cast<int>(waiting_.size()));
    free_ -= next.admitted;
    next.turn.notify_one();
    admitted_.splice(admitted_.end(), waiting_, waiting_.begin());
    --num_waiting_;
  }
}

RunPlaces::~RunPlaces() {
  if (held_ > 0) places_.Release(held_);
}

absl::Status RunPlaces::Acquire(Interrupt& interrupt, int64_t most_waiting) {
  ATTNRUN_ASSIGN_OR_RETURN(held_, places_.Acquire(wanted_, interrupt, most_waiting));
  return absl::OkStatus();
}

void RunPlaces::Adapt() {
  const int held = places_.Adapt(held_, wanted_);
  if (held == held_) return;
  held_ = held;
  SetNumThreads(held);
}

}  // namespace attnrun::exec
