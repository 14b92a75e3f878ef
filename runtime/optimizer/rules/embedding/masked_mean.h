// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_EMBEDDING_MASKED_MEAN_H_
#define ATTNRUN_OPTIMIZER_RULES_EMBEDDING_MASKED_MEAN_H_

#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

// The mean over a text's tokens, as sentence embeddings are made:
//
//   mask [B, S] -> Unsqueeze, Cast, perhaps Expand -> m [B, S, 1] or [B, S, D]
//   ReduceSum(Mul(x, m), 1) / Clip(ReduceSum(m, 1), min)
//   -->
//   MaskedMean(x, mask) {min_count}
absl::StatusOr<int> FuseMaskedMean(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_EMBEDDING_MASKED_MEAN_H_
