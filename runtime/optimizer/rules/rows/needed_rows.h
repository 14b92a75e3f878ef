// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ROWS_NEEDED_ROWS_H_
#define ATTNRUN_OPTIMIZER_RULES_ROWS_NEEDED_ROWS_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// Rows that nobody reads are not computed. A Gather or Slice of few positions (the first token of a
// classifier, the last one of a decoder's logits) moves up through all that works row by row, as
// far as nothing else reads the other rows:
//
//    x [B,S,D] ____________                 x [B,S,D] _______________
//    |        |            \                |        |      |        \  .
//    |     Linear(q)   Linear(k), (v)       |      Gather   Gather   Linear(k), (v)
//    |        \          /  /               |        |      |          /  /
//    |        Attention ___/                |     Linear(q) |         /  /
//    |            |                   ->    |         \     |        /  /
//    \          Linear                      |          Attention ___/__/     one query
//     \          /                          |              |
//        Add [B,S,D]                        |            Linear
//         |                                 \             /
//    norm, Linear, Gelu, ...                 Add [B,1,D]
//         |                                   |
//    Gather(axis=1, 0)                       norm, Linear, Gelu, ...
//         |                                   |
//       y [B,D]                              Squeeze
//                                             |
//                                            y [B,D]
//
// Keys and values stay whole. A causal attention's positions stay what they were; biases, masks and
// rotary angles of the queries are selected along.
namespace attnrun::opt {

absl::StatusOr<int> SelectNeededRows(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ROWS_NEEDED_ROWS_H_
