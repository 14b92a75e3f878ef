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

// The execution of one node in one run.
struct ProfileEvent {
  std::string node;
  std::string op_type;
  // The name of the kernel; "reference" if the reference code ran.
  std::string kernel;
  // Time since the start of the run.
  absl::Duration start;
  absl::Duration duration;
  // Floating-point operations; 0 if the kernel does not count them.
  int64_t flops = 0;
};

// Several runs may use one RunOptions at once if it has neither a profile nor an observer.
struct RunOptions {
  // The run fails with kDeadlineExceeded after this time. Checked between nodes, between tiles of
  // matrix products and attention, and while the run waits for others. Setting the wall clock
  // during the run changes nothing.
  absl::Time deadline = absl::InfiniteFuture();
  // The run fails with kCancelled once this is true. Checked where the deadline is; every few
  // milliseconds while the run waits. May be null.
  const std::atomic<bool>* cancel = nullptr;
  // In bytes. The run fails with kResourceExhausted, naming the node, when its intermediate tensors
  // and outputs would together exceed this. 0: only the limit of Allocator::Heap() applies.
  int64_t memory_limit = 0;
  // Receives one event per node, in the order of execution. May be null.
  std::vector<ProfileEvent>* profile = nullptr;
  // Called with the name of each value as soon as it is computed, on the thread that called Run.
  // Values in the bodies of If, Loop and Scan are included, once per iteration, and so are
  // sequences and optionals (an undefined tensor for one without an element). It must not run the
  // same session: that Run gives kFailedPrecondition. An exception that it throws ends the run with
  // kInternal. May be empty.
  std::function<void(absl::string_view name, const Tensor& value)> observer;
};

}  // namespace attnrun

#endif  // ATTNRUN_RUN_OPTIONS_H_
