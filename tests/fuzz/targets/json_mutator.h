// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_TARGETS_JSON_MUTATOR_H_
#define ATTNRUN_TESTS_FUZZ_TARGETS_JSON_MUTATOR_H_

#include <cstdint>

#include "nlohmann/json.hpp"

namespace attnrun::testing {

// Changes one value inside `json`, or adds or removes one. New values and their names come from
// `json` and `donor`, or are numbers and lists that readers may stumble over.
void MutateJson(nlohmann::json& json, const nlohmann::json& donor, uint32_t seed);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_TARGETS_JSON_MUTATOR_H_
