#ifndef ATTNRUN_OPTIMIZER_FUSIONS_MASKED_MEAN_H_
#define ATTNRUN_OPTIMIZER_FUSIONS_MASKED_MEAN_H_

#include "optimizer/pass.h"

namespace attnrun {

// The mean over a text's tokens, as sentence embeddings are made:
//
//   mask [B, S] -> Unsqueeze, Cast, perhaps Expand -> m [B, S, 1] or [B, S, D]
//   ReduceSum(Mul(x, m), 1) / Clip(ReduceSum(m, 1), min)
//   -->
//   MaskedMean(x, mask) {min_count}
absl::StatusOr<int> FuseMaskedMean(PassContext& context);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_FUSIONS_MASKED_MEAN_H_
