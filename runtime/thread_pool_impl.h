// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_THREAD_POOL_IMPL_H_
#define ATTNRUN_RUNTIME_THREAD_POOL_IMPL_H_

#include "attnrun/thread_pool.h"
#include "core/fork.h"
#include "core/team.h"
#include "execution/semaphore.h"

namespace attnrun {

// Places for threads that compute; each run takes as many as it has threads.
class ThreadPool::Impl {
 public:
  explicit Impl(int threads) : threads_(threads), user_(threads) {}

  int threads() const { return threads_; }
  // In a child made by fork() all places are free.
  exec::Semaphore& places() { return places_.Get(threads_); }

 private:
  const int threads_;
  const TeamUser user_;
  ForkLocal<exec::Semaphore> places_;
};

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_THREAD_POOL_IMPL_H_
