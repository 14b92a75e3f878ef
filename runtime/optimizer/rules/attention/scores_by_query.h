// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORES_BY_QUERY_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORES_BY_QUERY_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// Scores whose heads stand behind the queries, [B,S,N,T], as einsum("bshd,bthd->bsht") of
// DeepSeek's own code has them, become [B,N,S,T]:
//
//   MatMul [B,N,S,T]                        MatMul [B,N,S,T]
//      |                                       |
//   Transpose(0,2,1,3)   m [S,1,T]             |     Transpose(m) [1,S,T]
//       |________________|                      |_____|
//              Add                ->              Add
//               |                                  |
//            Softmax                            Softmax
//               |                                  |
//             [B,S,N,T]                    Transpose(0,2,1,3)
//
// A product with keys or values that all heads share, [B,1,T,H], is turned, too.
namespace attnrun::opt {

absl::StatusOr<int> TurnScoresByQuery(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_SCORES_BY_QUERY_H_
