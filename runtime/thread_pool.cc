// SPDX-License-Identifier: Apache-2.0
#include "attnrun/thread_pool.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/exceptions.h"
#include "execution/cpus.h"
#include "thread_pool_impl.h"

namespace attnrun {

ThreadPool::ThreadPool(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ThreadPool::~ThreadPool() = default;

absl::StatusOr<std::shared_ptr<ThreadPool>> ThreadPool::Make(int threads) {
  return WithoutExceptions([&]() -> absl::StatusOr<std::shared_ptr<ThreadPool>> {
    if (threads < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected a pool of 0 or more threads, but found ", threads));
    }
    const int usable = exec::UsableCpus();
    const int number = threads == 0 ? usable : std::min(threads, usable);
    std::shared_ptr<ThreadPool> pool(new ThreadPool(std::make_unique<Impl>(number)));
    const ThreadGroupLease group(number);
    if (group->num_started() < number) {
      return absl::ResourceExhaustedError(absl::StrCat("a pool of ", number,
                                                       " threads cannot be started: the system ",
                                                       "allows ", group->num_started()));
    }
    return pool;
  });
}

int ThreadPool::threads() const { return impl_->threads(); }
int64_t ThreadPool::waiting() const { return impl_->queue().num_waiting(); }

}  // namespace attnrun
