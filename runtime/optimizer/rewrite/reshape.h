// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_REWRITE_RESHAPE_H_
#define ATTNRUN_OPTIMIZER_REWRITE_RESHAPE_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// A constant as a list of its elements; null and other values as they are.
Value* Flat(Patch& patch, Value* value);

// The shape operand of a Reshape that changes extents `from` to `to` in every run: numbers, 0 for
// an extent that is copied, and at most one -1. nullopt if these cannot express it.
std::optional<std::vector<int64_t>> ReshapeTarget(absl::Span<const SymInt> from,
                                                  absl::Span<const SymInt> to);

// `value` reshaped to extents `to`, or `value` itself if it has them. Extents that ReshapeTarget
// cannot express are read off `like`: each of them must be the extent of an axis of one
// of these values, or a product of such and a number; one may be another if the others are never 0.
// Null if this is not so.
Value* ReshapeTo(Patch& patch, Value* value, absl::Span<const SymInt> to,
                 absl::Span<Value* const> like = {});

// The extents as one int64 tensor. Extents that are no numbers are read off `like`: each must be
// the extent of an axis of one of these values, or divide it. Null if one is not.
Value* ShapeOperand(Patch& patch, absl::Span<const SymInt> extents, absl::Span<Value* const> like);

// `value` with extent 1 along those of `axes` along which all its positions are alike: the Expand
// that repeats them is left out, also where views follow it. Axes are counted from the end, from
// -1 on; a value may have fewer. `value` itself if it repeats nothing there.
Value* WithoutRepeats(Patch& patch, Value* value, absl::Span<const int> axes);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_REWRITE_RESHAPE_H_
