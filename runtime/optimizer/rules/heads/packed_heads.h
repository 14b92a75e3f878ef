// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_HEADS_PACKED_HEADS_H_
#define ATTNRUN_OPTIMIZER_RULES_HEADS_PACKED_HEADS_H_

#include <optional>
#include <vector>

#include "optimizer/analysis/view.h"
#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// Heads that lie in the rows of a value [B, S, W], as those of Q do in a packed projection.
struct PackedHeads {
  // [B, S, W].
  Value* base = nullptr;
  int64_t width = 0;
  // Columns in which heads begin, `step` apart, ascending.
  std::vector<int64_t> offsets;
  int64_t step = 0;
  int64_t head_size = 0;
  // The value that was asked for is [B, N, S, H], not [B, S, N, H].
  bool heads_first = false;
  // Its rank is 3: [B, S, N * H].
  bool merged = false;
};

// The value, [B, N, S, H], [B, S, N, H] or, of `heads` heads, [B, S, N * H], as heads in a value
// from which it is only moved; nullopt if there is none such.
std::optional<PackedHeads> FindPackedHeads(Value* value, int64_t heads, Facts& facts);

// What FindPackedHeads was asked about, with `packed` in the place of the base.
Value* UnpackHeads(Patch& patch, Value* packed, const PackedHeads& heads);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_HEADS_PACKED_HEADS_H_
