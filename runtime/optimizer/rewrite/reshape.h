// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_REWRITE_RESHAPE_H_
#define ATTNRUN_OPTIMIZER_REWRITE_RESHAPE_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// The target of a Reshape that turns extents `from` into `to` in every run: numbers, 0 for an
// extent that is copied, and at most one -1. nullopt if these cannot express it.
std::optional<std::vector<int64_t>> ReshapeTarget(absl::Span<const SymInt> from,
                                                  absl::Span<const SymInt> to);

// `value` with extents `to`, `value` itself if it has them; the extents that ReshapeTarget cannot
// express are read off `like`, one of whose axes must have each but one. Null if there is none
// such.
Value* ReshapeTo(Patch& patch, Facts& facts, Value* value, absl::Span<const SymInt> to,
                 absl::Span<Value* const> like = {});

// The extents as one int64 tensor, those that are not numbers read off `like`, one of whose axes
// must have each, or a multiple of it. Null if there is none such.
Value* ShapeOperand(Patch& patch, Facts& facts, absl::Span<const SymInt> extents,
                    absl::Span<Value* const> like);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_REWRITE_RESHAPE_H_
