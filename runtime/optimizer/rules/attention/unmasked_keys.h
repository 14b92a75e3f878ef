// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_UNMASKED_KEYS_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_UNMASKED_KEYS_H_

#include <vector>

#include "optimizer/analysis/facts.h"
#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// A bool value, or its negation.
struct Condition {
  Value* value = nullptr;
  bool negated = false;
};

// The keys that each query may attend to: those that attnrun.Attention's attributes `causal`,
// `left_window` and `right_window` (see ops/attention/fused_attention.h) leave unmasked and for
// which all conditions of `rest` hold.
struct UnmaskedKeys {
  int64_t causal = 0;
  int64_t left_window = -1;
  int64_t right_window = -1;
  std::vector<Condition> rest;
  // True if this is simpler than the conditions that it was read from.
  bool simpler = false;
};

// Splits the conjunction of conditions that broadcast to `scores`, the extents [B, N, S, T], into
// its parts. Parts that always hold are dropped, parts are read before they were broadcast, and, if
// `positions`, comparisons of key positions with query positions become attributes. A condition
// whose extents may differ from the scores' is left as it is.
UnmaskedKeys ReadMask(const std::vector<Condition>& all, const std::vector<SymInt>& scores,
                      bool positions, Facts& facts);

// The conjunction as one value; null if there are no conditions.
Value* AllOf(Patch& patch, const std::vector<Condition>& conditions);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_UNMASKED_KEYS_H_
