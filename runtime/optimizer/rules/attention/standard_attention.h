// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_STANDARD_ATTENTION_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_STANDARD_ATTENTION_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// The standard's own Attention (ai.onnx, versions 23 to 25) becomes attnrun.Attention, a past of
// keys and values a Concat before it:
//
//   q  k  v  mask  past_k  past_v           past_k  k   past_v  v
//    \  \ |  /    /       /                    \   /       \   /
//        Attention                  ->    q    Concat      Concat    mask
//        /   |   \                         \     | \        / |     /
//       y  pres_k  pres_v                   Attention  pres_k  pres_v
//                                               |
//                                               y
namespace attnrun::opt {

absl::StatusOr<int> ConvertStandardAttention(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_STANDARD_ATTENTION_H_
