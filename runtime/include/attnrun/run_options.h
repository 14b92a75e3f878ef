#ifndef ATTNRUN_RUN_OPTIONS_H_
#define ATTNRUN_RUN_OPTIONS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "attnrun/tensor.h"

namespace attnrun {

// What one node did in one run.
struct ProfileEvent {
  std::string node;
  std::string op_type;
  // "reference" where no kernel took the node.
  std::string kernel;
  // Since the start of the run.
  absl::Duration start;
  absl::Duration duration;
  // Floating-point operations, 0 where the kernel does not count them.
  int64_t flops = 0;
};

struct RunOptions {
  // kDeadlineExceeded once passed; checked between nodes, and while the run waits for others.
  absl::Time deadline = absl::InfiniteFuture();
  // kCancelled once true; checked between nodes, and every few milliseconds while the run waits for
  // others. May be null.
  const std::atomic<bool>* cancel = nullptr;
  // Receives one event per node in the order of execution. May be null.
  std::vector<ProfileEvent>* profile = nullptr;
  // Called with the name of each value as soon as it is computed, those of the bodies of If, Loop
  // and Scan included, once per iteration. From the thread that called Run. May be empty.
  std::function<void(absl::string_view name, const Tensor& value)> observer;
};

}  // namespace attnrun

#endif  // ATTNRUN_RUN_OPTIONS_H_
