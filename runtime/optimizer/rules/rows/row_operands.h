// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ROWS_ROW_OPERANDS_H_
#define ATTNRUN_OPTIMIZER_RULES_ROWS_ROW_OPERANDS_H_

#include <optional>
#include <vector>

#include "optimizer/rules/rows/selection.h"

namespace attnrun::opt {

// An input of a node that has the same positions as its output, along an axis of its own.
struct OperandAxis {
  size_t input = 0;
  int axis = 0;
};

// The inputs of which the node needs no more than the positions that are needed of its outputs,
// along `axis` of those; all other inputs it needs as they are. nullopt where positions depend on
// each other, or where that is not plain to see.
std::optional<std::vector<OperandAxis>> RowOperandsOf(const Node& node, int axis,
                                                      SelectedPlace place, Facts& facts);

// The node's outputs at the selected positions, computed from inputs that have no others.
// Precondition: RowOperandsOf tells them. Extents that are not numbers may be read off `like`.
// Nulls if that cannot be expressed.
std::vector<Value*> AtSelectedRows(Patch& patch, Facts& facts, const Node& node, int axis,
                                   SelectedPlace place, const std::vector<Value*>& inputs,
                                   absl::Span<Value* const> like);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ROWS_ROW_OPERANDS_H_
