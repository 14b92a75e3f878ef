// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CANONICAL_SHUFFLED_LISTS_H_
#define ATTNRUN_OPTIMIZER_RULES_CANONICAL_SHUFFLED_LISTS_H_

#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

// A short list of integers that is brought into another order by way of a matrix, as exporters
// write the pads of PyTorch, which counts axes from the last one on:
//
//   Reshape(Transpose(Slice(Reshape(list [4], [-1, 2]), rows backwards)), [-1])
//     ->  Gather(list, [2, 0, 3, 1])
//
// so that what the list holds stays known.
absl::StatusOr<int> GatherShuffledLists(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CANONICAL_SHUFFLED_LISTS_H_
