// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_SOFTMAX_WITH_SINK_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_SOFTMAX_WITH_SINK_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// A softmax along the last axis with one more term in its sum, written out:
//
//   m = Max(ReduceMax(x), k)                        x   k
//   e = Exp(x - m)                                   \ /
//   y = e / (ReduceSum(e) + Exp(k - m))    ->      Concat, or Pad if k is a number
//                                                     |
//                                                  Softmax
//                                                     |
//                                                   Slice -> y
//
// k is 0 in "softmax plus one", where Relu or Clip may take the maximum. m may be ReduceMax(x)
// alone where the scores are such that no row is -inf everywhere: that would come to NaN. Without
// any maximum, Exp(x) / (ReduceSum(Exp(x)) + c) has log(c) for k.
namespace attnrun::opt {

absl::StatusOr<int> FuseSoftmaxWithSink(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_SOFTMAX_WITH_SINK_H_
