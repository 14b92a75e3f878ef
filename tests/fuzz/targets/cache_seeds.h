// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_TARGETS_CACHE_SEEDS_H_
#define ATTNRUN_TESTS_FUZZ_TARGETS_CACHE_SEEDS_H_

#include "weight_cache/content_hash.h"

namespace attnrun::testing {

// The contents of the model that the packed files of the target and of its seeds belong to.
inline constexpr cache::ContentHash kSeedContent = {1, 2, 3};

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_TARGETS_CACHE_SEEDS_H_
