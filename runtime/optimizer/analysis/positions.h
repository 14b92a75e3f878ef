// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_ANALYSIS_POSITIONS_H_
#define ATTNRUN_OPTIMIZER_ANALYSIS_POSITIONS_H_

#include <optional>
#include <vector>

#include "optimizer/analysis/facts.h"
#include "optimizer/analysis/view.h"

namespace attnrun::opt {

// Exporters compute masks and positions from integers that count evenly: Range, arange tables,
// their sums and views. PositionsOf describes such a tensor as a view whose place at each index is
// the number there: the column [[0], [2], [4]] is offset 0, stride 2 along axis 0. nullopt where
// the numbers do not count evenly or this is not easy to see.
std::optional<View> PositionsOf(Value* value, Facts& facts);

// GatherND's indices [I..., k] as the positions [I...] along each of the k axes that they index.
std::optional<std::vector<View>> TuplePositionsOf(Value* indices, Facts& facts);

// True if a view node picks elements by indices that it reads. A mere Reshape does without them.
bool ReadsIndices(const Node& view);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_ANALYSIS_POSITIONS_H_
