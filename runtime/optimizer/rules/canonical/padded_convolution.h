// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CANONICAL_PADDED_CONVOLUTION_H_
#define ATTNRUN_OPTIMIZER_RULES_CANONICAL_PADDED_CONVOLUTION_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

// Zeros that a Pad puts around what a convolution reads are the convolution's own, as other
// exporters write them:
//
//   Conv(Pad(x, [0, 0, 30, 0, 0, 0]), w)  ->  Conv(x, w) {pads=[30, 0]}
absl::StatusOr<int> PadInConvolutions(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CANONICAL_PADDED_CONVOLUTION_H_
