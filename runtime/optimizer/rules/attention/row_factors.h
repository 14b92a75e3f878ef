// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_ROW_FACTORS_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_ROW_FACTORS_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// Scores times something other than one number in the file: a learned scale for each head, as Swin
// v2 has it, or a temperature that is an input. f is the same for all keys.
//
//   q   k                      q   f
//    \ /                        \ /
//  MatMul   f                   Mul   k
//      \   /          ->          \  /
//       Mul (or Div)             MatMul
//        |                         |
//     Softmax                   Softmax
//
// A factor that is the same for all queries, such as a mask of integers that nobody knows to be 0
// and 1, goes to the keys; not where there may be many of these for each query. A factor of the
// probabilities for each head or query, such as a mask of heads or a gate, goes behind the product
// with the values, one for each key to the values:
//
//   softmax(s)   f [.., S, 1]                            f [.., 1, T]
//           \   /                  P   v                       |
//            Mul    v      ->       \ /           P    v   Transpose
//              \   /              MatMul   f       \    \   /
//              MatMul                 \   /         \    Mul
//                                      Mul           MatMul
namespace attnrun::opt {

absl::StatusOr<int> MoveRowFactors(PassContext& context);

// Whether all that reads the value leads to a Softmax, over what attention knows to stand between.
bool LeadsToSoftmax(const Value& scores);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_ROW_FACTORS_H_
