// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_GENERATE_H_
#define ATTNRUN_TOOLS_ATTNRUN_GENERATE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "attnrun/fit_inputs.h"
#include "attnrun/model_info.h"
#include "attnrun/tensor.h"

namespace attnrun::cli {

// A plausible value for a model's input, by its type and the name that exporters give it: masks
// leave everything unmasked; token types and segments are 0; positions continue from the past;
// other integers are ids from 1 to 9, or less where the tables that they index are smaller; 8-bit
// pixels are 0 to 255; bools are true (use_cache_branch only if there is a past); floats are
// standard normal. Equal seeds and inputs give equal values. `fitted`: the shape, and what the
// model's graph shows of the contents; `past`: the length of the key-value cache.
// kResourceExhausted if the extents do not fit into memory.
absl::StatusOr<Tensor> Generate(const ValueInfo& info, const FittedInput& fitted, int64_t past,
                                uint64_t seed);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_GENERATE_H_
