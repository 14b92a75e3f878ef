// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_THREAD_POOL_IMPL_H_
#define ATTNRUN_RUNTIME_THREAD_POOL_IMPL_H_

#include "attnrun/thread_pool.h"
#include "core/cpu_set.h"
#include "core/fork.h"
#include "execution/places.h"

namespace attnrun {

// Places for threads that compute.
class ThreadPool::Impl {
 public:
  explicit Impl(int threads) : threads_(threads), teams_(threads) {}

  int threads() const { return threads_; }
  // In a child made by fork() all places are free.
  exec::Places& places() { return places_.Get(threads_, cpus_); }

 private:
  const int threads_;
  const CpuSet cpus_;
  const exec::ShareTeams teams_;
  ForkLocal<exec::Places> places_;
};

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_THREAD_POOL_IMPL_H_
