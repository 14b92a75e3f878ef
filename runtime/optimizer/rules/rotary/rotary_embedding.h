// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ROTARY_ROTARY_EMBEDDING_H_
#define ATTNRUN_OPTIMIZER_RULES_ROTARY_ROTARY_EMBEDDING_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// Rotary position embeddings that are written out:
//
//         x -------------------.                 x   cos, sin [B,S,R/2]
//       /   \                   |                 \   /
//   Slice   Slice, Neg         Mul cos   ->   RotaryEmbedding
//       \   /                   |                   |
//    Concat(-x2, x1), Mul sin, Add -> y             y
//
// where cos and sin hold each angle twice, which is proved; the same with x1 and x2 the even and
// odd channels; and Concat(x1 cos - x2 sin, x2 cos + x1 sin) with each angle once. A rotation of
// the first R channels takes in the rest:
//
//   Concat(RotaryEmbedding(x[..., :R]), x[..., R:])   becomes   RotaryEmbedding(x) of R channels
namespace attnrun::opt {

absl::StatusOr<int> FuseRotaryEmbedding(PassContext& context);
absl::StatusOr<int> FusePartialRotary(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ROTARY_ROTARY_EMBEDDING_H_
