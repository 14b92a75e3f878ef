// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_ATTENTION_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_ATTENTION_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// Attention written out becomes one attnrun.Attention, anchored at its Softmax:
//
//   q      k                          q  k  v  bias? mask?
//    \    /                            \  \ |  /    /
//    MatMul                             \  ||  /   /
//      |   * scale, softcap             Attention {scale, softcap, mask_value, layouts}
//      |   + bias, Where(mask)    ->        |
//    Softmax                            Reshape [B,S,N,H]
//      |   guard against NaN                |
//      |      v                         Transpose(0,2,1,3)
//      |     /                              |
//    MatMul                                 y [B,N,S,H]
//      |
//      y [B,N,S,H]
//
// What is added to a view of the scores in which queries and keys lie on several axes, as the rows
// and columns of a picture, is laid out as one bias:
//
//   scores [.., S, T] -> Reshape [.., h, w, h, w]
//                     -> Add rows [.., h, w, h, 1], Add columns [.., h, w, 1, w]
//                     -> Reshape [.., S, T]
//
// q, k and v are read where they lie, in the projections' results: the views that split heads are
// a part of the operator (q_layout, k_layout, v_layout), and those that merge them again cancel
// with the two that are written behind it. A Softmax over keys that lacks something is a near miss.
namespace attnrun::opt {

absl::StatusOr<int> FuseAttention(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_ATTENTION_H_
