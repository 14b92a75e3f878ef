// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_THREAD_POOL_IMPL_H_
#define ATTNRUN_RUNTIME_THREAD_POOL_IMPL_H_

#include <list>

#include "attnrun/thread_pool.h"
#include "core/fork.h"
#include "core/team.h"
#include "execution/places.h"

namespace attnrun {

// Places for threads that compute.
class ThreadPool::Impl {
 public:
  explicit Impl(int threads) : threads_(threads) {
    for (const int share : exec::SharesOf(threads)) users_.emplace_back(share);
  }

  int threads() const { return threads_; }
  // In a child made by fork() all places are free.
  exec::Places& places() { return places_.Get(threads_); }

 private:
  const int threads_;
  // Keep teams of each number of threads that a run may get.
  std::list<TeamUser> users_;
  ForkLocal<exec::Places> places_;
};

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_THREAD_POOL_IMPL_H_
