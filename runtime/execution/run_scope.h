// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_RUN_SCOPE_H_
#define ATTNRUN_EXECUTION_RUN_SCOPE_H_

#include <utility>

#include "core/parallel.h"
#include "core/thread_context.h"
#include "execution/run_queue.h"

namespace attnrun::exec {

// A run of the calling thread. Runs of one thread nest: an observer may run another session.
class RunScope {
 public:
  // `session` tells sessions apart. The run has so many of the permits, and as many threads.
  RunScope(const void* session, const RunQueue& queue, int num_permits)
      : session_(session),
        queue_(&queue),
        num_permits_(num_permits),
        outer_(std::exchange(Innermost(), this)),
        threads_before_(CurrentThread().num_threads),
        cpus_before_(std::exchange(CurrentThread().cpus, &queue.cpus())) {
    SetNumThreads(num_permits);
  }
  ~RunScope() {
    CurrentThread().num_threads = threads_before_;
    CurrentThread().cpus = cpus_before_;
    Innermost() = outer_;
  }
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;

  // True if the calling thread is running this session. It would wait for the permit that it has.
  static bool IsRunning(const void* session) {
    const RunScope* scope = Innermost();
    while (scope != nullptr && scope->session_ != session) scope = scope->outer_;
    return scope != nullptr;
  }

  // How many permits a run of the calling thread has; 0 if it has none.
  static int NumPermits(const RunQueue& queue) {
    const RunScope* scope = Innermost();
    while (scope != nullptr && scope->queue_ != &queue) scope = scope->outer_;
    return scope == nullptr ? 0 : scope->num_permits_;
  }

 private:
  static RunScope*& Innermost() {
    thread_local RunScope* innermost = nullptr;
    return innermost;
  }

  const void* const session_;
  const RunQueue* const queue_;
  const int num_permits_;
  RunScope* const outer_;
  const int threads_before_;
  const CpuSet* const cpus_before_;
};

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_RUN_SCOPE_H_
