// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_JOINED_PARTS_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_JOINED_PARTS_H_

#include <vector>

#include "optimizer/analysis/view.h"
#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// The axes of a product's operand or result before its rows and columns.
std::vector<ViewAxis> BatchAxes(const View& matrices);

// Values of one rank, concatenated along an axis of theirs, counted from the last as 1. They
// broadcast to each other along all others. Extents that are not numbers are read off `like`. Null
// if one of them is null or if the extents are not known.
Value* JoinedParts(const std::vector<Value*>& parts, int from_last, absl::Span<Value* const> like,
                   Patch& patch);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_JOINED_PARTS_H_
