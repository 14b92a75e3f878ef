// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_CHECK_H_
#define ATTNRUN_TESTS_FUZZ_CHECK_H_

#include <optional>
#include <string>

#include "fuzz/evaluate.h"

namespace attnrun::testing {

struct Failure {
  // A label that is the same for the same kind of defect, as far as can be known; shrinking keeps
  // it.
  std::string kind;
  std::string detail;
};

// Checks the optimizer on any graph. The optimizer must succeed and leave a sound graph after every
// pass; find nothing to do in a second run; keep the number of outputs; and keep the results of the
// reference on the original graph, with and without kernels, up to rounding. If the reference
// refuses a binding, the optimized graph only has to end without a crash. Returns null if all is
// well.
std::optional<Failure> Check(const Trial& trial);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_CHECK_H_
