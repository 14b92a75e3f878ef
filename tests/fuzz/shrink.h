// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_SHRINK_H_
#define ATTNRUN_TESTS_FUZZ_SHRINK_H_

#include "fuzz/check.h"

namespace attnrun::testing {

// Looks for a smaller trial that fails in the same way: with fewer bindings, outputs and nodes, and
// with inputs in place of computed values. Repeats until no step keeps the failure.
Trial Shrunk(Trial trial, const Failure& failure);

// A printable report: the trial and its failure.
std::string Reproducer(const Trial& trial, const Failure& failure);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_SHRINK_H_
