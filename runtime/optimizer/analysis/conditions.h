// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_ANALYSIS_CONDITIONS_H_
#define ATTNRUN_OPTIMIZER_ANALYSIS_CONDITIONS_H_

#include <optional>

#include "optimizer/analysis/facts.h"
#include "optimizer/analysis/view.h"

namespace attnrun::opt {

// For a comparison of positions, a triangle (Trilu, or in a table), and views of these: a number
// for each of its elements, as a place; the element is true where its number is at least 0. nullopt
// for all else.
std::optional<View> MarginOf(Value* condition, Facts& facts);

// The number that a triangle as above holds beside zeros; nullopt for all else.
std::optional<double> TriangleOf(const Value* value, Facts& facts);

// What all elements of a bool tensor are in every run, as far as it has any; nullopt where that is
// not plain to see.
std::optional<bool> KnownCondition(Value* condition, Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_ANALYSIS_CONDITIONS_H_
