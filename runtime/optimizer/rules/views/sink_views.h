// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_VIEWS_SINK_VIEWS_H_
#define ATTNRUN_OPTIMIZER_RULES_VIEWS_SINK_VIEWS_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// What works on each row (the last axis) by itself changes places with a Reshape or a Transpose of
// the rows before it, so that it comes to stand beside others of the same input, or the chain ends
// where another one undoes it:
//
//   x [B,S,D]                            x [B,S,D]
//       |                                    |
//   Transpose(1,0,2)                      Linear
//       |                      ->            |
//    Linear                              Transpose(1,0,2)
//       |                                    |
//   y [S,B,N]                            y [S,B,N]
//
// So does DynamicQuantizeLinear, to which all arrangements are the same. So does a sum of two
// whose rows are arranged alike.
namespace attnrun::opt {

absl::StatusOr<int> SinkViews(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_VIEWS_SINK_VIEWS_H_
