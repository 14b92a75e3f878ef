// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_RUN_SCOPE_H_
#define ATTNRUN_EXECUTION_RUN_SCOPE_H_

#include <utility>

#include "core/parallel.h"
#include "core/thread_context.h"
#include "execution/places.h"

namespace attnrun::exec {

// A run of the calling thread. Runs of one thread nest: an observer may run another session.
class RunScope {
 public:
  // `session` tells sessions apart. The run has so many of the places, and as many threads.
  RunScope(const void* session, const Places& places, int num_places)
      : session_(session),
        places_(&places),
        num_places_(num_places),
        outer_(std::exchange(Innermost(), this)),
        threads_before_(NumThreads()),
        cpus_before_(std::exchange(CurrentThread().cpus, &places.cpus())) {
    SetNumThreads(num_places);
  }
  ~RunScope() {
    SetNumThreads(threads_before_);
    CurrentThread().cpus = cpus_before_;
    Innermost() = outer_;
  }
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;

  // True if the calling thread is running this session. It would wait for the place that it has.
  static bool IsRunning(const void* session) {
    const RunScope* scope = Innermost();
    while (scope != nullptr && scope->session_ != session) scope = scope->outer_;
    return scope != nullptr;
  }

  // How many places a run of the calling thread has; 0 if it has none.
  static int NumPlaces(const Places& places) {
    const RunScope* scope = Innermost();
    while (scope != nullptr && scope->places_ != &places) scope = scope->outer_;
    return scope == nullptr ? 0 : scope->num_places_;
  }

 private:
  static RunScope*& Innermost() {
    thread_local RunScope* innermost = nullptr;
    return innermost;
  }

  const void* const session_;
  const Places* const places_;
  const int num_places_;
  RunScope* const outer_;
  const int threads_before_;
  const CpuSet* const cpus_before_;
};

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_RUN_SCOPE_H_
