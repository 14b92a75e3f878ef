// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_LINEAR_POINTWISE_CONVOLUTION_H_
#define ATTNRUN_OPTIMIZER_RULES_LINEAR_POINTWISE_CONVOLUTION_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// Convolutions of one position are projections, when channels are or will be the last axis:
//
//   x [B,L,C]                            x [B,L,C]
//       |                                    |
//   Transpose(0,2,1)                     Transpose(0,2,1)
//       |                                    |
//   Conv(w [M,C,1], b)         ->        Transpose(0,2,1)
//       |                                    |
//   y [B,M,L]                            Linear(w [M,C], b)
//                                            |
//                                        Transpose(0,2,1)
//                                            |
//                                        y [B,M,L]
//
// where the first two Transposes cancel, and likewise if such a Transpose reads y. Between channels
// that come first on both sides the Conv stays.
namespace attnrun::opt {

absl::StatusOr<int> RewritePointwiseConvolutions(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_LINEAR_POINTWISE_CONVOLUTION_H_
