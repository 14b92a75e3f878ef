#ifndef ATTNRUN_OPTIMIZER_CANONICALIZE_CONTRIB_OPERATORS_H_
#define ATTNRUN_OPTIMIZER_CANONICALIZE_CONTRIB_OPERATORS_H_

#include "absl/status/statusor.h"
#include "optimizer/pass.h"

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
namespace attnrun {

absl::StatusOr<int> ExpandContribOperators(PassContext& context);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_CANONICALIZE_CONTRIB_OPERATORS_H_
