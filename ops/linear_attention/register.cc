// SPDX-License-Identifier: Apache-2.0
#include "ops/interface/families.h"
#include "ops/linear_attention/causal_conv.h"
#include "ops/linear_attention/linear_attention.h"

namespace attnrun::ops {

void RegisterLinearAttention(OpRegistry& registry) {
  registry.Register({"", "CausalConvWithState", {27}, {2, 4}, {2, 2}, Make<CausalConv>});
  registry.Register({"", "LinearAttention", {27}, {3, 6}, {2, 2}, Make<LinearAttention>});
  registry.Register({kContribDomain, "CausalConvWithState", {1}, {2, 4}, {2, 2}, Make<CausalConv>});
  registry.Register(
      {kContribDomain, "LinearAttention", {1}, {3, 6}, {2, 2}, Make<LinearAttention>});
}

}  // namespace attnrun::ops
