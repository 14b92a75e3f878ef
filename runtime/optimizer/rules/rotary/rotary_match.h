// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ROTARY_ROTARY_MATCH_H_
#define ATTNRUN_OPTIMIZER_RULES_ROTARY_ROTARY_MATCH_H_

#include <optional>
#include <vector>

#include "optimizer/rules/rotary/rotary_tables.h"

namespace attnrun::opt {

struct RotationMatch {
  Rotation rotation;
  std::vector<Node*> nodes;
};

// The rotation of pairs of channels whose last node is `node`: an Add of x * cos and (x with its
// pairs swapped and one of each negated) * sin, or a Concat or Reshape of the two halves of the
// result. Does not check that the tables are those of a rotary embedding.
std::optional<RotationMatch> FindRotation(Node* node, Facts& facts);

// The Concat along the last axis that joins two values to this one, or null.
Node* PairConcat(const Value* value, Facts& facts);

// True if `part` is x[..., start : start + length * step : step].
bool IsSliceOf(Value* part, Value* x, int64_t start, int64_t length, int64_t step, Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ROTARY_ROTARY_MATCH_H_
