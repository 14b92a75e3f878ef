// SPDX-License-Identifier: Apache-2.0
#include "core/start_thread.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

namespace attnrun {
namespace {

// Blocks all signals on this thread and those that it starts, while the scope exists: signals are
// for the program's threads.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

std::thread StartThread(const CpuSet* cpus, std::function<void()> body) {
  const NoSignals no_signals;
  std::thread thread(std::move(body));
  pthread_setname_np(thread.native_handle(), "attnrun");
  if (cpus != nullptr) cpus->Bind(thread.native_handle());
  return thread;
}

}  // namespace attnrun
