// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_PROJECTION_QKV_H_
#define ATTNRUN_OPTIMIZER_RULES_PROJECTION_QKV_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// The projections of one attention that share their input become one:
//
//            x                                   x
//        /   |   \                               |
//   Linear Linear Linear                      Linear [Wq Wk Wv]
//       |    |    |                              |
//     (rotary embedding, norm, ...)     ->     Split
//        \   |   /                             / | \  .
//        Attention                          Attention
//
// Whatever stands between a projection and the attention stays. Of a LoRA pair, or of latents that
// keys and values are made of, the first Linear merges with those that share its input. Where heads
// have projections of their own, all 3·h become one, heads in order. Of cross-attention K and V
// merge. Where the attention itself is not fused, those merge that lead to a product of two
// computed values.
namespace attnrun::opt {

absl::StatusOr<int> MergeQkvProjections(PassContext& context);

// Products of one input that meet at a Mul, as gate and up of a gated MLP do.
absl::StatusOr<int> MergeSiblingProjections(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_PROJECTION_QKV_H_
