// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ROWS_ATTENTION_ROWS_H_
#define ATTNRUN_OPTIMIZER_RULES_ROWS_ATTENTION_ROWS_H_

#include <optional>
#include <vector>

#include "optimizer/rules/rows/row_operands.h"

namespace attnrun::opt {

// Adds input `i`, which broadcasts to extents `to`, to the operands if it has positions along
// `axis` of `to`. Returns false if that is not known.
bool AddBroadcastRows(const Node& node, size_t i, const std::vector<SymInt>& to, int axis,
                      Facts& facts, std::vector<OperandAxis>& operands);

// The attribute `causal` of an attention that computes the selected queries alone; nullopt if no
// value of it describes where these queries stand among the keys.
std::optional<int64_t> CausalOfSelected(const Node& node, SelectedPlace place, Facts& facts);

// RowOperandsOf for an attnrun.Attention: its queries, and biases, masks and sinks that differ by
// query. Keys and values are needed in full.
std::optional<std::vector<OperandAxis>> AttentionRowOperands(const Node& node, int axis,
                                                             SelectedPlace place, Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ROWS_ATTENTION_ROWS_H_
