// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_THREAD_POOL_IMPL_H_
#define ATTNRUN_RUNTIME_THREAD_POOL_IMPL_H_

#include "attnrun/thread_pool.h"
#include "core/cpu_set.h"
#include "core/fork.h"
#include "execution/run_queue.h"

namespace attnrun {

// Threads that compute, and the runs that wait for them.
class ThreadPool::Impl {
 public:
  explicit Impl(int threads) : threads_(threads), groups_(threads) {}

  int threads() const { return threads_; }
  // In a child made by fork() all permits are free.
  exec::RunQueue& queue() { return queue_.Get(threads_, cpus_); }

 private:
  const int threads_;
  const CpuSet cpus_;
  const exec::ShareGroups groups_;
  ForkLocal<exec::RunQueue> queue_;
};

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_THREAD_POOL_IMPL_H_
