// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_SHRINK_H_
#define ATTNRUN_TESTS_FUZZ_SHRINK_H_

#include "fuzz/check.h"

namespace attnrun::testing {

// A smaller trial that fails in the same kind of way: fewer bindings, outputs and nodes, inputs in
// place of what nodes compute, as long as there is a step that keeps the failure.
Trial Shrunk(Trial trial, const Failure& failure);

// What to print of a failure: the trial and what is wrong with it.
std::string Reproducer(const Trial& trial, const Failure& failure);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_SHRINK_H_
