// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_RUNS_H_
#define ATTNRUN_TESTS_FUZZ_RUNS_H_

#include <cstdint>

namespace attnrun::testing {

// The seeds of one test run: `count` seeds from `first` on.
struct Runs {
  uint32_t first = 1;
  uint32_t count = 0;
};

// The number of seeds is the environment's `variable`; the first is ATTNRUN_TEST_SEED or else comes
// from the clock. If neither variable is set, the seeds are always the same `count` ones. Prints
// how to repeat the run.
Runs ChooseRuns(const char* variable, uint32_t count);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_RUNS_H_
