// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_PLACES_H_
#define ATTNRUN_EXECUTION_PLACES_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <list>
#include <mutex>

#include "absl/status/statusor.h"
#include "core/interrupt.h"
#include "core/team.h"

namespace attnrun::exec {

// Keeps teams of each number of threads that a run of up to `threads` may get: that number, its half,
// and so on, to 1. Few sizes, because each has teams of its own.
class ShareTeams {
 public:
  explicit ShareTeams(int threads);

 private:
  std::list<TeamUser> users_;
};

// Places for threads that compute, as many as there are CPUs for them. Runs get them in order of
// arrival, and share them while there are several, since many runs on one thread each compute more
// than one run after another on all threads, and a short one need not wait for a long one.
// Thread-safe.
class Places {
 public:
  static constexpr int64_t kAnyNumber = std::numeric_limits<int64_t>::max();

  explicit Places(int places) : free_(places) {}

  // Waits for a free place and takes at least one and at most `wanted`: the largest of the shares of
  // `wanted` that leaves one for each of those who wait. Returns how many, until Release.
  // None was taken on kCancelled and kDeadlineExceeded, as `interrupt` says, and on kUnavailable: the
  // caller would have to wait, and `most_waiting` others do so already.
  absl::StatusOr<int> Acquire(int wanted, Interrupt& interrupt, int64_t most_waiting = kAnyNumber);

  // For a run that has `held` of `wanted` places: gives up half of several if somebody waits, or takes
  // more, up to a larger share, if so many are free. Returns how many it has now. Cheap if there is
  // nothing to do.
  int Adapt(int held, int wanted);

  void Release(int places);

  // The number of callers that are waiting.
  int64_t num_waiting() const { return num_waiting_; }

 private:
  struct Waiter {
    explicit Waiter(int most) : wanted(most) {}
    const int wanted;
    // 0 while it waits.
    int admitted = 0;
    std::condition_variable turn;
  };

  // Gives free places to those who wait, the first in line first.
  void Admit();

  std::mutex mutex_;
  // Both numbers are written under the mutex.
  std::atomic<int> free_;
  std::atomic<int> num_waiting_ = 0;
  // In order of arrival.
  std::list<Waiter> waiting_;
  // Have their places, but have not woken.
  std::list<Waiter> admitted_;
};

// The places of one run. On the thread of the run, which has as many threads as places.
class RunPlaces {
 public:
  RunPlaces(Places& places, int wanted) : places_(places), wanted_(wanted) {}
  // Releases them.
  ~RunPlaces();
  RunPlaces(const RunPlaces&) = delete;
  RunPlaces& operator=(const RunPlaces&) = delete;

  // As Places::Acquire.
  absl::Status Acquire(Interrupt& interrupt, int64_t most_waiting);
  // Called between nodes: shares its places and threads with those who wait, or takes free ones.
  void Adapt();

  int held() const { return held_; }

 private:
  Places& places_;
  const int wanted_;
  int held_ = 0;
};

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_PLACES_H_
