// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ROWS_ATTENTION_ROWS_H_
#define ATTNRUN_OPTIMIZER_RULES_ROWS_ATTENTION_ROWS_H_

#include <optional>
#include <vector>

#include "optimizer/rules/rows/row_operands.h"

namespace attnrun::opt {

// Adds input `i`, which broadcasts to extents `to`, if it has positions along their `axis`. False
// if that is not plain to see.
bool AddBroadcastRows(const Node& node, size_t i, const std::vector<SymInt>& to, int axis,
                      Facts& facts, std::vector<OperandAxis>& operands);

// `causal` of an attention that has the selected queries only; nullopt if the attributes cannot say
// where they stand.
std::optional<int64_t> CausalOfSelected(const Node& node, SelectedPlace place, Facts& facts);

// RowOperandsOf for an attnrun.Attention: its queries, and what biases and masks have for each.
std::optional<std::vector<OperandAxis>> AttentionRowOperands(const Node& node, int axis,
                                                             SelectedPlace place, Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ROWS_ATTENTION_ROWS_H_
