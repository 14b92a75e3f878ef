// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_ANALYSIS_CONDITIONS_H_
#define ATTNRUN_OPTIMIZER_ANALYSIS_CONDITIONS_H_

#include <optional>

#include "optimizer/analysis/facts.h"
#include "optimizer/analysis/view.h"

namespace attnrun::opt {

// Conditions such as key <= query are true in a regular pattern. The margin of a condition
// describes it: a view whose place at each index is a number that is at least 0 exactly where the
// condition is true. For key <= query the margin is query - key. Rules read from it whether a mask
// is causal, a window, or always true. Covers comparisons of positions (positions.h), triangles
// (Trilu, or a constant table of 0 and one other number) and views of these; nullopt for any other
// condition.
std::optional<View> MarginOf(Value* condition, Facts& facts);

// The number that a tensor holds in a triangle, if it holds 0 elsewhere; nullopt for other tensors.
std::optional<double> TriangleOf(const Value* value, Facts& facts);

// The value that all elements of a bool tensor have in every run; nullopt if that is not known.
std::optional<bool> KnownCondition(Value* condition, Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_ANALYSIS_CONDITIONS_H_
