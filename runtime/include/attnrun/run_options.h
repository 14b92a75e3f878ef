// SPDX-License-Identifier: Apache-2.0
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
  // kDeadlineExceeded once passed; checked between nodes, between the tiles of matrix products and
  // attention, and while the run waits for others.
  absl::Time deadline = absl::InfiniteFuture();
  // kCancelled once true; checked where the deadline is, while waiting every few milliseconds. May
  // be null.
  const std::atomic<bool>* cancel = nullptr;
  // kResourceExhausted, naming the node, when the tensors that this run holds at once, intermediate
  // ones and outputs, would take more bytes. 0: as much as the process may use.
  int64_t memory_limit = 0;
  // Receives one event per node in the order of execution. May be null.
  std::vector<ProfileEvent>* profile = nullptr;
  // Called with the name of each value as soon as it is computed, those of the bodies of If, Loop
  // and Scan included, once per iteration. From the thread that called Run. May be empty.
  std::function<void(absl::string_view name, const Tensor& value)> observer;
};

}  // namespace attnrun

#endif  // ATTNRUN_RUN_OPTIONS_H_
