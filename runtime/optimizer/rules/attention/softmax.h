// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_SOFTMAX_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_SOFTMAX_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// Softmax along an axis, written out:
//
//   x -------.                            x
//   |         \                           |
//   |      ReduceMax           ->      Softmax
//    \      /                             |
//      Sub, Exp -----.                    y
//       |             |
//   ReduceSum ------ Div -> y
//
// with or without the maximum, or divided only behind a product with values; by way of logarithms:
//
//   Exp(LogSoftmax(x))    Exp(x - ReduceLogSumExp(x))    Exp(x - Log(ReduceSum(Exp(x))))
//
// A maximum that is subtracted before a Softmax goes, too:
//
//   x -------.                            x
//   |         \                           |
//   |      ReduceMax           ->      Softmax
//    \      /                             |
//      Sub, Softmax -> y                  y
//
// Where an exponential without the maximum overflows, or all of a row's come to 0, what is written
// out gives NaN and Softmax does not; elsewhere they are equal.
namespace attnrun::opt {

absl::StatusOr<int> FuseSoftmax(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_SOFTMAX_H_
