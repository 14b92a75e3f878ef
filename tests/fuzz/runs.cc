// SPDX-License-Identifier: Apache-2.0
#include "fuzz/runs.h"

#include <cstdlib>

#include "absl/strings/numbers.h"
#include "support/op_tester.h"

namespace attnrun::testing {

Runs ChooseRuns(const char* variable, uint32_t count) {
  const char* wanted = std::getenv(variable);
  if (wanted == nullptr && std::getenv(kSeedVariable) == nullptr) return {1, count};
  uint32_t number = 0;
  const bool valid = wanted != nullptr && absl::SimpleAtoi(wanted, &number);
  return {ChosenSeed(), valid ? number : count};
}

}  // namespace attnrun::testing
