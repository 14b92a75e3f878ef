// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_INTERRUPT_GUARD_H_
#define ATTNRUN_TOOLS_ATTNRUN_INTERRUPT_GUARD_H_

#include <csignal>

#include <atomic>

namespace attnrun::cli {

// While it exists, the first SIGINT (Ctrl+C) ends runs and sets a flag, so that the command can
// print what it has measured. A second one ends the process.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  struct sigaction before_ = {};
};

// True from the first SIGINT on that an InterruptGuard caught.
bool WasInterrupted();
// The same as a flag for RunOptions::cancel.
const std::atomic<bool>& InterruptFlag();

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_INTERRUPT_GUARD_H_
