// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_JOIN_HEADS_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_JOIN_HEADS_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// Attentions of one head each whose heads lie at equal distances, as merged projections leave them,
// become one of all heads:
//
//   qkv [B,S,3*N*H]                            qkv [B,S,3*N*H]
//     |                 |                         |
//   Attention         Attention                Attention
//   "b s (h:8)"       "b s 8+(h:8)"   ...  ->  "b s (n:4 h:8)"
//          \           /                          |
//        Concat(axis = -1)                        |
//              |                                  |
//           y [B,S,N*H]                        y [B,S,N*H]
namespace attnrun::opt {

absl::StatusOr<int> JoinHeads(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_JOIN_HEADS_H_
