// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CANONICAL_SPLIT_SLICES_H_
#define ATTNRUN_OPTIMIZER_RULES_CANONICAL_SPLIT_SLICES_H_

#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

// Slices of one value along one axis that do not overlap are the pieces of one Split, as other
// exporters write it; pieces between them are left unread:
//
//   Slice(x, 0, 8), Slice(x, 8, 16), x [..., 24]  ->  Split(x, [8, 8, 8])
//
// A Gather of one position that keeps the axis is such a Slice. And a Split of which one piece
// alone is read is a Slice.
absl::StatusOr<int> SplitSlices(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CANONICAL_SPLIT_SLICES_H_
