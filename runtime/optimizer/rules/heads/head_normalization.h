// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_HEADS_HEAD_NORMALIZATION_H_
#define ATTNRUN_OPTIMIZER_RULES_HEADS_HEAD_NORMALIZATION_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// Heads of Q and K are normalized where they lie in a projection, in one pass:
//
//       Linear [B,S,W]                            Linear [B,S,W]
//          |                                         |
//        Split                                attnrun.HeadRmsNormalization
//      /   |   \                                 {head_offsets of Q and K}
//  Reshape Reshape ...                               |
//     |       |                        ->          Slice
//  RMSNorm  RMSNorm                              /   |   \  .
//     |       |                              Reshape Reshape ...
//    q [B,S,Nq,H]  k [B,S,Nkv,H]                |       |
//                                              q       k
namespace attnrun::opt {

absl::StatusOr<int> PackHeadNormalizations(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_HEADS_HEAD_NORMALIZATION_H_
