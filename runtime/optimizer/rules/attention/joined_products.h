// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_JOINED_PRODUCTS_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_JOINED_PRODUCTS_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// Two streams that attend as one (LiLT's text and layout), or heads whose channels lie in two
// tensors (DeepSeek's with and without rotation): a sum of two products of scores, or two products
// with the same probabilities, is one product of channels side by side.
//
//   q1 k1   q2 k2
//     |       |              [q1 c2/c1 q2]   [k1 k2]
//   MatMul  MatMul                     |       |
//     | c1    | c2                      MatMul
//     |       |          ->               | c1
//        Add                           Softmax   [v1 v2]
//         |                               |         |
//      Softmax                              MatMul
//     |       |   v1, v2                   |      |
//   MatMul  MatMul                       Slice  Slice
//     |       |                            |      |
//     y1      y2                           y1     y2
//
// Only where there are as many queries as keys: for one query and cached keys, copying these would
// take longer than the products.
namespace attnrun::opt {

absl::StatusOr<int> JoinProducts(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_JOINED_PRODUCTS_H_
