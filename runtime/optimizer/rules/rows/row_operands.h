// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ROWS_ROW_OPERANDS_H_
#define ATTNRUN_OPTIMIZER_RULES_ROWS_ROW_OPERANDS_H_

#include <optional>
#include <vector>

#include "optimizer/rules/rows/selection.h"

namespace attnrun::opt {

// The operands of a node that have a position for each position along an axis of its outputs. If
// only some positions of the outputs are needed, so are only these of the operands; all other
// inputs are needed in full. For a Linear the operand is x; for an Attention the queries, but not
// keys and values.
struct RowOperands {
  // The axis of the outputs.
  int axis = 0;
  std::vector<OperandAxis> operands;
  // For an Attention that masks by position: its attribute `causal` for the selected queries.
  std::optional<int64_t> causal;
};

// The operands with positions along `axis` of the node's outputs. nullopt where positions of the
// output depend on other positions of an input, or where that is not known.
std::optional<RowOperands> RowOperandsOf(const Node& node, int axis, SelectedPlace place,
                                         Facts& facts);

// Computes the node's outputs at the selected positions from `inputs`, of which the operands have
// only these positions. Extents that are not numbers may be read off `like`. Returns nulls if that
// cannot be written.
std::vector<Value*> AtSelectedRows(Patch& patch, Facts& facts, const Node& node,
                                   const RowOperands& rows, const std::vector<Value*>& inputs,
                                   absl::Span<Value* const> like);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ROWS_ROW_OPERANDS_H_
