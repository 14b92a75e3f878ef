// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_TRANSPOSED_PROBABILITIES_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_TRANSPOSED_PROBABILITIES_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// A product with transposed probabilities, as models of channels first have it, gets its operands'
// order changed, so that the Transposes are of values and result, where others undo them:
//
//   v [...,H,T]    softmax [...,S,T]           softmax [...,S,T]   v [...,H,T]
//        |            |                              |                |
//        |        Transpose                          |            Transpose
//         \          /                    ->          \              /
//            MatMul                                        MatMul
//              |                                             |
//              |                                         Transpose
//              |                                             |
//          y [...,H,S]                                   y [...,H,S]
//
// So it does where samples and heads of the probabilities change places before the product. A
// Softmax over queries of which all that is read is its Transpose becomes one over the last axis
// of transposed scores.
namespace attnrun::opt {

absl::StatusOr<int> TurnTransposedProbabilities(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_TRANSPOSED_PROBABILITIES_H_
