// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_NORMALIZATION_RMS_NORMALIZATION_H_
#define ATTNRUN_OPTIMIZER_RULES_NORMALIZATION_RMS_NORMALIZATION_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// Root-mean-square norms that are written out, over the last axis:
//
//   [Cast to float]                                   x  scale
//      x ---------------.                              \  /
//      |                 |                       RMSNormalization
//   Pow(2) or Mul with itself              ->             |
//      |                 |                                y
//   ReduceMean, Add epsilon
//      |                 |
//   Sqrt, Reciprocal -- Mul, [Cast back], [Mul scale] -> y
//
// with any spelling of the division by the root. Half-precision rows need no Cast: the operator
// computes in float.
namespace attnrun::opt {

absl::StatusOr<int> FuseRmsNormalization(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_NORMALIZATION_RMS_NORMALIZATION_H_
