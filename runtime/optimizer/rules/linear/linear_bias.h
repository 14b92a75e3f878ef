// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_LINEAR_LINEAR_BIAS_H_
#define ATTNRUN_OPTIMIZER_RULES_LINEAR_LINEAR_BIAS_H_

#include <cstdint>
#include <vector>

#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// True if the Gemm computes X·W + C, with W perhaps transposed.
bool IsPlainGemm(const Node& gemm);

// True if `value` is a constant of one element for each of the `columns` on its last axis and has
// no more axes than `rank`, that of the product.
bool IsBias(const Value* value, int64_t columns, int rank);

// Looks for an Add of such a constant that is the only reader of `result`. Appends it to `nodes`,
// sets `result` to its output and returns the bias; returns null if there is none.
Value* TakeBiasAdd(RuleContext& context, int64_t columns, std::vector<Node*>& nodes,
                   Value*& result);

// The bias with one axis, as Linear requires. Null stays null.
Value* FlatBias(Patch& patch, Value* bias);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_LINEAR_LINEAR_BIAS_H_
