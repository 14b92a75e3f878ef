// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CONTRIB_CONTRIB_OPERATORS_H_
#define ATTNRUN_OPTIMIZER_RULES_CONTRIB_CONTRIB_OPERATORS_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// ONNX Runtime's own operators in those that all other passes know:
//
//   x  skip  gamma  beta  bias                   x  bias
//    \   \     |     /   /                        \  /
//   SkipLayerNormalization           ->     skip  Add
//      |             |                         \  /
//      y            sum                        Add -- sum
//                                               |   gamma  beta
//                                        LayerNormalization
//                                               |
//                                               y
namespace attnrun::opt {

absl::StatusOr<int> ExpandContribOperators(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CONTRIB_CONTRIB_OPERATORS_H_
