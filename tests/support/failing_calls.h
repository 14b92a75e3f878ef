// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SUPPORT_FAILING_CALLS_H_
#define ATTNRUN_TESTS_SUPPORT_FAILING_CALLS_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"

namespace attnrun::testing {

struct FailingCall {
  // Returns what the library said.
  std::function<absl::Status()> call;
  // Undoes what is left of a call, and may hold it to more, with all memory that it wants.
  std::function<void()> tidy = [] {};
  // One of so many allocations has its turn. ATTNRUN_TEST_STRIDE takes the place of 1.
  int64_t stride = 1;
};

// Calls until no allocation fails, each time one allocation later: the one whose turn it is fails,
// and so do those that follow it, `count` in all. Expects kOk or kResourceExhausted, the second at
// least once, and that no allocation is lost. For programs with failing_malloc.cc.
void FailEach(const FailingCall& tried, int64_t count);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SUPPORT_FAILING_CALLS_H_
