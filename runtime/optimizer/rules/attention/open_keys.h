// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_OPEN_KEYS_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_OPEN_KEYS_H_

#include <vector>

#include "optimizer/analysis/facts.h"
#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// A bool value, or its negation.
struct Condition {
  Value* value = nullptr;
  bool negated = false;
};

// Which keys are open to which query: those that attnrun.Attention's attributes `causal`,
// `left_window` and `right_window` (see ops/attention/fused_attention.h) leave open and for which
// all conditions of `rest` hold.
struct OpenKeys {
  int64_t causal = 0;
  int64_t left_window = -1;
  int64_t right_window = -1;
  std::vector<Condition> rest;
  // True if this is simpler than the conditions that it was made of.
  bool simpler = false;
};

// The conjunction of conditions that broadcast to `scores`, the extents [B, N, S, T], in its parts:
// without those that always hold, without what only broadcasts, and with comparisons of the key's
// position and the query's as attributes, if `positions` asks for them. Where a condition's extents
// may be others than the scores' it is left as it is.
OpenKeys ReadMask(const std::vector<Condition>& all, const std::vector<SymInt>& scores,
                  bool positions, Facts& facts);

// The conjunction as one value, null if it is empty.
Value* AllOf(Patch& patch, const std::vector<Condition>& conditions);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_OPEN_KEYS_H_
