// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_TARGETS_MODEL_MUTATOR_H_
#define ATTNRUN_TESTS_FUZZ_TARGETS_MODEL_MUTATOR_H_

#include <string>
#include <vector>

namespace attnrun::testing {

// Names of operators that mutated models use. Each target that links model_mutator.cc, and with it
// libFuzzer's functions that change models, defines it.
const std::vector<std::string>& OperatorNames();

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_TARGETS_MODEL_MUTATOR_H_
