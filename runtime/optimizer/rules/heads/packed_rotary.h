// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_HEADS_PACKED_ROTARY_H_
#define ATTNRUN_OPTIMIZER_RULES_HEADS_PACKED_ROTARY_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// Q and K are rotated where they lie in a projection, all heads in one pass, so that nothing is
// moved between the projection and the attention:
//
//        Linear [B,S,(Nq+2*Nkv)*H]                   Linear [B,S,(Nq+2*Nkv)*H]
//          |                                            |
//        Split                                   attnrun.RotaryEmbedding
//      /   |   \                                    {head_offsets of Q and K}
//  Reshape Reshape \                                    |
//     |    |        |                                 Slice
//  Transpose Transpose|                       ->    /   |   \  .
//     |    |        |                         Reshape Reshape \  .
//  Rotary Rotary    |                            |      |      |
//    \     |       /                        Transpose Transpose|
//      Attention                                  \     |     /
//                                                  Attention
//
// The views behind it then become a part of the attention's layouts. Queries and keys that are
// projected apart are rotated in their own projections.
namespace attnrun::opt {

absl::StatusOr<int> PackRotaryEmbeddings(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_HEADS_PACKED_ROTARY_H_
