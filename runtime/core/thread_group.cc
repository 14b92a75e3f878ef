// SPDX-License-Identifier: Apache-2.0
#include "core/thread_group.h"

#include <emmintrin.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <list>
#include <map>
#include <system_error>
#include <utility>

#include "core/fork.h"
#include "core/start_thread.h"
#include "core/thread_context.h"

namespace attnrun {
namespace {

class InsideScope {
 public:
  InsideScope() : before_(std::exchange(CurrentThread().in_group, true)) {}
  ~InsideScope() { CurrentThread().in_group = before_; }
  InsideScope(const InsideScope&) = delete;
  InsideScope& operator=(const InsideScope&) = delete;

 private:
  const bool before_;
};

constexpr int kMostPieces = 0xFFFF;

struct Range {
  int begin;
  int end;
};
uint64_t Ticket(uint32_t work, Range left) {
  return uint64_t{work} << 32 | static_cast<uint64_t>(left.begin) << 16 |
         static_cast<uint64_t>(left.end);
}
uint32_t WorkOf(uint64_t ticket) { return static_cast<uint32_t>(ticket >> 32); }
Range LeftOf(uint64_t ticket) {
  return {static_cast<int>(ticket >> 16 & kMostPieces), static_cast<int>(ticket & kMostPieces)};
}

// Claims the first or the last piece that is left; -1 if there is none.
int ClaimOf(std::atomic<uint64_t>& ticket, bool first) {
  uint64_t before = ticket.load(std::memory_order_acquire);
  for (;;) {
    Range left = LeftOf(before);
    if (left.begin >= left.end) return -1;
    const int piece = first ? left.begin++ : --left.end;
    if (ticket.compare_exchange_weak(before, Ticket(WorkOf(before), left),
                                     std::memory_order_acq_rel, std::memory_order_acquire)) {
      return piece;
    }
  }
}

// Returns once `atomic` is no longer `old`. Spins first, because waking a sleeping thread takes
// about as long as the spinning lasts.
template <typename T>
void Await(const std::atomic<T>& atomic, T old) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kAwake = std::chrono::microseconds(50);
  constexpr int kPauses = 16;
  const Clock::time_point end = Clock::now() + kAwake;
  do {
    for (int i = 0; i < kPauses; ++i) {
      if (atomic.load(std::memory_order_acquire) != old) return;
      _mm_pause();
    }
  } while (Clock::now() < end);
  atomic.wait(old, std::memory_order_acquire);
}

using Groups = std::list<std::unique_ptr<ThreadGroup>>;

}  // namespace

struct GroupsOfSize {
  // Not in use, the most recently used one last.
  Groups idle;
  int users = 0;
};

namespace {

// By number of threads. Entries stay.
struct AllTeams {
  std::mutex mutex;
  std::map<int, GroupsOfSize> by_size;
};

// Takes a user away, and with the last one the groups.
Groups RemoveUser(int threads) {
  AllTeams& all = PerProcess<AllTeams>();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto of_size = all.by_size.find(threads);
  // A child made by fork() destroys users of its parent.
  if (of_size == all.by_size.end() || of_size->second.users == 0) return {};
  if (--of_size->second.users > 0) return {};
  return std::exchange(of_size->second.idle, {});
}

}  // namespace

ThreadGroup::ThreadGroup(int threads)
    : num_threads_(threads), pieces_(std::make_unique<Pieces[]>(threads)) {
  threads_.reserve(threads);
  try {
    for (int i = 1; i < threads; ++i) {
      threads_.push_back(StartThread(CurrentThread().cpus, [this, i] { Serve(i); }));
    }
  } catch (const std::system_error&) {
    // The system allows no more threads: those started so far do the work.
    return;
  } catch (...) {
    End();
    throw;
  }
}

ThreadGroup::~ThreadGroup() { End(); }

void ThreadGroup::End() {
  ended_.store(true, std::memory_order_relaxed);
  works_.fetch_add(1, std::memory_order_release);
  works_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadGroup::Run(int pieces, absl::FunctionRef<void(int)> body) {
  body_ = &body;
  unfinished_.store(pieces, std::memory_order_relaxed);
  const uint32_t work = works_.load(std::memory_order_relaxed) + 1;
  for (int i = 0; i < num_threads_; ++i) {
    const Range own = {pieces * i / num_threads_, pieces * (i + 1) / num_threads_};
    pieces_[i].ticket.store(Ticket(work, own), std::memory_order_release);
  }
  works_.store(work, std::memory_order_release);
  works_.notify_all();
  Work(0);
  for (int left = unfinished_.load(std::memory_order_acquire); left > 0;
       left = unfinished_.load(std::memory_order_acquire)) {
    Await(unfinished_, left);
  }
  if (exception_ != nullptr) std::rethrow_exception(std::exchange(exception_, nullptr));
}

void ThreadGroup::Serve(int thread) {
  for (uint32_t seen = 0;;) {
    Await(works_, seen);
    seen = works_.load(std::memory_order_acquire);
    if (ended_.load(std::memory_order_relaxed)) return;
    Work(thread);
  }
}

void ThreadGroup::Work(int thread) {
  const InsideScope inside;
  for (int piece = Claim(thread); piece >= 0; piece = Claim(thread)) {
    try {
      (*body_)(piece);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (exception_ == nullptr) exception_ = std::current_exception();
    }
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_one();
  }
}

int ThreadGroup::Claim(int thread) {
  int piece = ClaimOf(pieces_[thread].ticket, true);
  for (int i = 1; piece < 0 && i < num_threads_; ++i) {
    piece = ClaimOf(pieces_[(thread + i) % num_threads_].ticket, false);
  }
  return piece;
}

ThreadGroupLease::ThreadGroupLease(int threads) {
  AllTeams& all = PerProcess<AllTeams>();
  {
    const std::lock_guard<std::mutex> lock(all.mutex);
    of_size_ = &all.by_size[threads];
    Groups& idle = of_size_->idle;
    if (!idle.empty()) group_.splice(group_.end(), idle, std::prev(idle.end()));
  }
  if (group_.empty()) group_.push_back(std::make_unique<ThreadGroup>(threads));
}

// Allocates nothing, since a destructor cannot fail.
ThreadGroupLease::~ThreadGroupLease() {
  AllTeams& all = PerProcess<AllTeams>();
  const std::lock_guard<std::mutex> lock(all.mutex);
  of_size_->idle.splice(of_size_->idle.end(), group_);
}

ThreadGroupUser::ThreadGroupUser(int threads) : threads_(threads) {
  AllTeams& all = PerProcess<AllTeams>();
  const std::lock_guard<std::mutex> lock(all.mutex);
  ++all.by_size[threads_].users;
}

// The threads end after the lock is given back.
ThreadGroupUser::~ThreadGroupUser() { RemoveUser(threads_); }

}  // namespace attnrun
