// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_ANALYSIS_POSITIONS_H_
#define ATTNRUN_OPTIMIZER_ANALYSIS_POSITIONS_H_

#include <optional>
#include <vector>

#include "optimizer/analysis/facts.h"
#include "optimizer/analysis/view.h"

namespace attnrun::opt {

// The numbers of an integer tensor that count evenly along each of its axes, as those do that
// exporters compute masks and positions of (Range, arange tables and their sums and views): the
// number at an index is the place that the view gives the index. nullopt where that is not plain to
// see.
std::optional<View> PositionsOf(Value* value, Facts& facts);

// GatherND's indices [I..., k] as the positions [I...] along each of the k axes that they index.
std::optional<std::vector<View>> TuplePositionsOf(Value* indices, Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_ANALYSIS_POSITIONS_H_
