// SPDX-License-Identifier: Apache-2.0
#include "execution/run_queue.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/parallel.h"
#include "core/start_thread.h"
#include "core/status.h"

namespace attnrun::exec {
namespace {

// The largest share of `wanted` that is at most `most`, or 1.
int ShareOf(int wanted, int most) {
  while (wanted > std::max(most, 1)) wanted /= 2;
  return wanted;
}

}  // namespace

ShareGroups::ShareGroups(int threads) {
  for (int share = threads; share > 0; share /= 2) users_.emplace_back(share);
}

RunQueue::RunQueue(int permits, const CpuSet& cpus) : cpus_(cpus), free_(permits) {
  workers_.reserve(permits);
}

RunQueue::~RunQueue() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  work_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

absl::StatusOr<RunQueue::Waiters::iterator> RunQueue::Await(std::unique_lock<std::mutex>& lock,
                                                            Interrupt& interrupt) {
  const auto me = std::prev(waiting_.end());
  while (me->admitted == 0 && !interrupt.Check()) {
    const absl::Duration patience = interrupt.Patience();
    if (patience == absl::InfiniteDuration()) {
      me->turn.wait(lock);
    } else {
      me->turn.wait_for(lock, absl::ToChronoNanoseconds(patience));
    }
  }
  if (me->admitted > 0) {
    // A worker checks the interrupt itself.
    while (!me->is_ready) me->turn.wait(lock);
    return me;
  }
  waiting_.erase(me);
  --num_waiting_;
  const absl::Status found = interrupt.status();
  return absl::Status(found.code(), absl::StrCat(found.message(), " while it waited for others"));
}

absl::Status RunQueue::Enqueue(int wanted, int64_t most_waiting, const Body* body, Task task) {
  if (MustWait() && static_cast<int64_t>(waiting_.size()) >= most_waiting) {
    return absl::UnavailableError(absl::StrCat("the run cannot wait for others: ", waiting_.size(),
                                               " do, which is the limit"));
  }
  waiting_.emplace_back(wanted, body, std::move(task));
  ++num_waiting_;
  return absl::OkStatus();
}

absl::StatusOr<RunQueue::Entry> RunQueue::Enter(int wanted, Interrupt& interrupt,
                                                int64_t most_waiting, const Body* body) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!MustWait()) {
    const int share = ShareOf(wanted, free_);
    free_ -= share;
    return Entry{share, absl::OkStatus()};
  }
  ATTNRUN_RETURN_IF_ERROR(Enqueue(wanted, most_waiting, body, nullptr));
  ATTNRUN_ASSIGN_OR_RETURN(const auto me, Await(lock, interrupt));
  Entry entry = {me->has_run ? 0 : me->admitted, std::move(me->result)};
  admitted_.erase(me);
  return entry;
}

absl::StatusOr<int> RunQueue::Acquire(int wanted, Interrupt& interrupt, int64_t most_waiting) {
  ATTNRUN_ASSIGN_OR_RETURN(const Entry entry, Enter(wanted, interrupt, most_waiting, nullptr));
  return entry.permits;
}

absl::Status RunQueue::Run(int wanted, Interrupt& interrupt, int64_t most_waiting, bool here,
                           Body body) {
  ATTNRUN_ASSIGN_OR_RETURN(Entry entry,
                           Enter(wanted, interrupt, most_waiting, here ? nullptr : &body));
  if (entry.permits == 0) return std::move(entry.result);
  RunPermits own(*this, wanted, entry.permits);
  const absl::Cleanup release = [&] { Release(own.held()); };
  return body(own);
}

absl::Status RunQueue::Post(int wanted, int64_t most_waiting, Task task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (workers_.empty() && !StartWorker()) {
    return absl::ResourceExhaustedError("the system starts no thread that could compute the run");
  }
  ATTNRUN_RETURN_IF_ERROR(Enqueue(wanted, most_waiting, nullptr, std::move(task)));
  Admit();
  return absl::OkStatus();
}

int RunQueue::Adapt(int held, int wanted) {
  const bool others_wait = num_waiting_.load(std::memory_order_relaxed) > 0;
  const bool none_free = free_.load(std::memory_order_relaxed) == 0;
  if (others_wait ? held == 1 : held == wanted || none_free) return held;
  const std::lock_guard<std::mutex> lock(mutex_);
  const int share = ShareOf(wanted, waiting_.empty() ? held + free_ : held / 2);
  free_ -= share - held;
  Admit();
  return share;
}

void RunQueue::Release(int permits) {
  const std::lock_guard<std::mutex> lock(mutex_);
  free_ += permits;
  Admit();
}

void RunQueue::Admit(size_t awake) {
  while (!waiting_.empty() && free_ > 0) {
    Waiter& next = waiting_.front();
    next.admitted = ShareOf(next.wanted, free_ / static_cast<int>(waiting_.size()));
    free_ -= next.admitted;
    next.is_ready = next.body == nullptr && !next.is_posted();
    if (next.is_ready) next.turn.notify_one();
    Waiters& admitted = next.is_ready ? admitted_ : for_workers_;
    admitted.splice(admitted.end(), waiting_, waiting_.begin());
    --num_waiting_;
  }
  CallWorkers(awake);
}

void RunQueue::CallWorkers(size_t awake) {
  while (for_workers_.size() > idle_workers_) {
    if (StartWorker()) continue;
    const auto last = std::find_if(for_workers_.rbegin(), for_workers_.rend(),
                                   [](const Waiter& run) { return !run.is_posted(); });
    if (last == for_workers_.rend()) break;
    last->is_ready = true;
    last->turn.notify_one();
    admitted_.splice(admitted_.end(), for_workers_, std::prev(last.base()));
  }
  for (size_t i = awake; i < for_workers_.size(); ++i) work_.notify_one();
}

bool RunQueue::StartWorker() {
  try {
    workers_.push_back(StartThread(&cpus_, [this] { Work(); }));
  } catch (const std::exception&) {
    return false;
  }
  ++idle_workers_;
  return true;
}

void RunQueue::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return ended_ || !for_workers_.empty(); });
    if (for_workers_.empty()) return;
    --idle_workers_;
    const auto run = for_workers_.begin();
    // A posted run, which is freed with all that it holds, without the lock.
    Waiters posted;
    const bool is_posted = run->is_posted();
    Waiters& taken = is_posted ? posted : admitted_;
    taken.splice(taken.end(), for_workers_, run);
    lock.unlock();
    RunPermits own(*this, run->wanted, run->admitted);
    if (is_posted) {
      run->task(own);
      posted.clear();
      lock.lock();
    } else {
      run->result = (*run->body)(own);
      lock.lock();
      run->has_run = true;
      run->is_ready = true;
      run->turn.notify_one();
    }
    free_ += own.held();
    ++idle_workers_;
    Admit(1);
  }
}

void RunPermits::Adapt() {
  const int held = queue_.Adapt(held_, wanted_);
  if (held == held_) return;
  held_ = held;
  SetNumThreads(held);
}

}  // namespace attnrun::exec
