// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_ANALYSIS_CONDITIONS_H_
#define ATTNRUN_OPTIMIZER_ANALYSIS_CONDITIONS_H_

#include <optional>

#include "optimizer/analysis/facts.h"
#include "optimizer/analysis/view.h"

namespace attnrun::opt {

// The margin of a condition: a number for each of its elements, written as a place of a view; the
// element is true where its number is at least 0. Covers comparisons of positions, triangles
// (Trilu, or in a table) and views of these; nullopt for all else.
std::optional<View> MarginOf(Value* condition, Facts& facts);

// The number that a triangle as above holds beside zeros; nullopt for all else.
std::optional<double> TriangleOf(const Value* value, Facts& facts);

// The value that all elements of a bool tensor have in every run; nullopt if that is not known.
std::optional<bool> KnownCondition(Value* condition, Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_ANALYSIS_CONDITIONS_H_
