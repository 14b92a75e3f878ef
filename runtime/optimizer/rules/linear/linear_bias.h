// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_LINEAR_LINEAR_BIAS_H_
#define ATTNRUN_OPTIMIZER_RULES_LINEAR_LINEAR_BIAS_H_

#include <cstdint>
#include <vector>

#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// True if `value` is a constant of `columns` elements along its last axis that has no more axes
// than a product of that rank.
bool IsBias(const Value* value, int64_t columns, int rank);

// Takes the Add of such a constant that alone reads `result`: it joins `nodes`, its own result
// becomes `result`. Returns the bias, null if there is none.
Value* TakeBiasAdd(RuleContext& context, int64_t columns, std::vector<Node*>& nodes,
                   Value*& result);

// The bias as Linear wants it, of one axis. Null stays null.
Value* FlatBias(Patch& patch, Value* bias);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_LINEAR_LINEAR_BIAS_H_
