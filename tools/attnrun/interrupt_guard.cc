// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/interrupt_guard.h"

namespace attnrun::cli {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

}  // namespace

InterruptGuard::InterruptGuard() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = true; };
  action.sa_flags = SA_RESETHAND;
  sigaction(SIGINT, nullptr, &before_);
  // A shell's background job ignores it.
  if (before_.sa_handler != SIG_IGN) sigaction(SIGINT, &action, nullptr);
}

InterruptGuard::~InterruptGuard() { sigaction(SIGINT, &before_, nullptr); }

bool WasInterrupted() { return interrupted; }

const std::atomic<bool>& InterruptFlag() { return interrupted; }

}  // namespace attnrun::cli
