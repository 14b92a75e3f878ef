// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_RUNS_H_
#define ATTNRUN_TESTS_FUZZ_RUNS_H_

#include <cstdint>

namespace attnrun::testing {

// The seeds of one test run: `count` of them, from `first` on.
struct Runs {
  uint32_t first = 1;
  uint32_t count = 0;
};

// As many as the environment's `variable` says, from ATTNRUN_TEST_SEED or, without that, the clock
// on. Where neither is set, `count`, always the same ones. Prints what to repeat it with.
Runs ChooseRuns(const char* variable, uint32_t count);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_RUNS_H_
