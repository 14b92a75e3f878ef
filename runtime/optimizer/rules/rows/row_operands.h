// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ROWS_ROW_OPERANDS_H_
#define ATTNRUN_OPTIMIZER_RULES_ROWS_ROW_OPERANDS_H_

#include <optional>
#include <vector>

#include "optimizer/rules/rows/selection.h"

namespace attnrun::opt {

// An input of a node that has a position for each position of the output, along its own axis
// `axis`.
struct OperandAxis {
  size_t input = 0;
  int axis = 0;
};

// The core of needed_rows: the inputs of which a node needs only some positions if only these
// positions along `axis` of its outputs are needed. For a Linear that is x; for an Attention the
// queries, but not keys and values. All other inputs are needed in full. nullopt where positions of
// the output depend on other positions of an input, or where that is not known.
std::optional<std::vector<OperandAxis>> RowOperandsOf(const Node& node, int axis,
                                                      SelectedPlace place, Facts& facts);

// Computes the node's outputs at the selected positions from `inputs`, of which those that
// RowOperandsOf names have only these positions. Precondition: RowOperandsOf finds them. Extents
// that are not numbers may be read off `like`. Returns nulls if that cannot be written.
std::vector<Value*> AtSelectedRows(Patch& patch, Facts& facts, const Node& node, int axis,
                                   SelectedPlace place, const std::vector<Value*>& inputs,
                                   absl::Span<Value* const> like);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ROWS_ROW_OPERANDS_H_
