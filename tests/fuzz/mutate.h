// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_MUTATE_H_
#define ATTNRUN_TESTS_FUZZ_MUTATE_H_

#include <random>
#include <string>

#include "fuzz/evaluate.h"

namespace attnrun::testing {

// Changes one thing that a pattern may rely on: an attribute, the elements or the shape of a
// constant, the inputs, operator or version of a node, an inserted node, another reader or graph
// output in the middle, or the known shape of an input. The graph may become invalid. Returns a
// description of the change, or "" if nothing changed.
std::string Mutate(Draft& draft, std::mt19937& generator);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_MUTATE_H_
