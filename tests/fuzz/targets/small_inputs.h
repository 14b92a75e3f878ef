// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_TARGETS_SMALL_INPUTS_H_
#define ATTNRUN_TESTS_FUZZ_TARGETS_SMALL_INPUTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/model_info.h"
#include "attnrun/tensor.h"

namespace attnrun::testing {

// Inputs of the declared types and shapes with the numbers 0, 1, 2 and 3; extents that are not
// fixed are 2. kResourceExhausted for an input of more than 65,536 elements.
absl::StatusOr<TensorMap> SmallInputs(const std::vector<ValueInfo>& declared);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_TARGETS_SMALL_INPUTS_H_
