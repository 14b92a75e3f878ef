// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_HEADS_PACKED_HEADS_H_
#define ATTNRUN_OPTIMIZER_RULES_HEADS_PACKED_HEADS_H_

#include <optional>
#include <vector>

#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// A merged projection of Q, K and V gives rows [B, S, W] in which heads lie at certain columns.
// PackedHeads describes a value of heads that was only moved out of such rows, so that a rule can
// work on the heads in the rows instead (packed_rewrite.h).
struct PackedHeads {
  // The value with the rows, [B, S, W].
  Value* base = nullptr;
  int64_t width = 0;
  // The columns in which heads begin, ascending.
  std::vector<int64_t> offsets;
  int64_t head_size = 0;
};

// Finds the rows that a value of heads was moved out of. The value is [B, N, S, H], [B, S, N, H],
// or [B, S, N * H] with `heads` heads. nullopt if there are no such rows, or other nodes than views
// in between.
std::optional<PackedHeads> FindPackedHeads(Value* value, int64_t heads, Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_HEADS_PACKED_HEADS_H_
