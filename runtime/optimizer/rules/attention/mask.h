// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_MASK_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_MASK_H_

#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

// What masks say that attnrun.Attention knows by itself:
//
//   t = Range(0, T)      s = Range(0, S)                padding [B, T]
//           t <= s           t > s - 4                     |
//             \_____And_______/                   [B, 1, 1, T]
//                      \______________And______________/
//                                      |
//                    Where(mask, 0, -inf or float's least) [B, 1, S, T]
//                                      |
//            Attention(q, k, v, bias)
//   -->
//            Attention(q, k, v, -, padding [B, 1, 1, T]) {causal=1, left_window=3, mask_value=...}
//
// A bias that is 0 where a condition holds and swallows any score elsewhere becomes a mask; a mask
// loses what always holds and what only broadcasts; comparisons of the key's position with the
// query's become attributes.
absl::StatusOr<int> SimplifyMasks(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_MASK_H_
