// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_RUN_SCOPE_H_
#define ATTNRUN_EXECUTION_RUN_SCOPE_H_

#include <utility>

namespace attnrun::exec {

// A run of the calling thread. Runs of one thread nest: an observer may run another session.
class RunScope {
 public:
  // `session` and `places` tell sessions and semaphores apart. The run has this many places.
  RunScope(const void* session, const void* places, int num_places)
      : session_(session),
        places_(places),
        num_places_(num_places),
        outer_(std::exchange(Innermost(), this)) {}
  ~RunScope() { Innermost() = outer_; }
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;

  // True if the calling thread is running this session. It would wait for the place that it has.
  static bool IsRunning(const void* session) {
    const RunScope* scope = Innermost();
    while (scope != nullptr && scope->session_ != session) scope = scope->outer_;
    return scope != nullptr;
  }

  // How many places a run of the calling thread has; 0 if it has none.
  static int NumPlaces(const void* places) {
    const RunScope* scope = Innermost();
    while (scope != nullptr && scope->places_ != places) scope = scope->outer_;
    return scope == nullptr ? 0 : scope->num_places_;
  }

 private:
  static RunScope*& Innermost() {
    thread_local RunScope* innermost = nullptr;
    return innermost;
  }

  const void* const session_;
  const void* const places_;
  const int num_places_;
  RunScope* const outer_;
};

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_RUN_SCOPE_H_
