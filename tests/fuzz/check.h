// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_CHECK_H_
#define ATTNRUN_TESTS_FUZZ_CHECK_H_

#include <optional>
#include <string>

#include "fuzz/evaluate.h"

namespace attnrun::testing {

struct Failure {
  // The same for the same defect, as far as one can tell: what shrinking holds on to.
  std::string kind;
  std::string detail;
};

// What the optimizer must do with any graph: succeed, leaving a sound graph after every pass; find
// nothing to do when it runs again; keep the number of outputs; and compute what the reference
// computes on the graph as it was, with kernels and without, within what rounding may do. Where the
// reference refuses a binding, all that is asked is an end without a crash. Null if all is well.
std::optional<Failure> Check(const Trial& trial);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_CHECK_H_
