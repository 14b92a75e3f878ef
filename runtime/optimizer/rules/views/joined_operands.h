// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_VIEWS_JOINED_OPERANDS_H_
#define ATTNRUN_OPTIMIZER_RULES_VIEWS_JOINED_OPERANDS_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// Operands whose first axes are joined for an operator that works on each element, and are split
// again behind it, as where heads are folded into the batch:
//
//   gate [B,N,S,1]     bias [B,N,S,T]           gate       bias
//        |                  |                       \       /
//   Reshape [B*N,S,1]  Reshape [B*N,S,T]    ->         Mul
//               \       /                               |
//                  Mul                              y [B,N,S,T]
//                   |
//            Reshape [B,N,S,T]
//                   |
//             y [B,N,S,T]
//
// What a bias was repeated for along the joined axes then only broadcasts.
namespace attnrun::opt {

absl::StatusOr<int> SplitJoinedOperands(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_VIEWS_JOINED_OPERANDS_H_
