// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_MUTATE_H_
#define ATTNRUN_TESTS_FUZZ_MUTATE_H_

#include <random>
#include <string>

#include "fuzz/evaluate.h"

namespace attnrun::testing {

// Changes one thing that a pattern may rely on: an attribute, a number or an order in a constant,
// the order of a node's inputs, a node put in between, another reader or a graph output in the
// middle, what is known of an input's shape. The graph may be invalid then. Returns what was done;
// "" if the attempt came to nothing.
std::string Mutate(Draft& draft, std::mt19937& generator);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_MUTATE_H_
