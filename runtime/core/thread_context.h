// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_THREAD_CONTEXT_H_
#define ATTNRUN_CORE_THREAD_CONTEXT_H_

#include "core/cpu_set.h"
#include "core/interrupt.h"

namespace attnrun {

// The state of one thread in a run.
struct ThreadContext {
  // The threads that ParallelFor uses; 0 until it is known.
  int num_threads = 0;
  // The threads of groups that are started for this thread run on these; null: where it runs
  // itself.
  const CpuSet* cpus = nullptr;
  // True inside a body of ThreadGroup::Run.
  bool in_group = false;
  // Set by the innermost InterruptScope; null if there is none.
  Interrupt* interrupt = nullptr;
};

// The context of the calling thread.
inline ThreadContext& CurrentThread() {
  thread_local ThreadContext context;
  return context;
}

}  // namespace attnrun

#endif  // ATTNRUN_CORE_THREAD_CONTEXT_H_
