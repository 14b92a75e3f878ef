// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_LINEAR_LINEAR_MATCH_H_
#define ATTNRUN_OPTIMIZER_RULES_LINEAR_LINEAR_MATCH_H_

#include <cstdint>
#include <vector>

#include "optimizer/rules/linear/linear_parts.h"

namespace attnrun::opt {

// The nodes that become one attnrun.Linear, with the parts of it.
struct LinearMatch {
  std::vector<Node*> nodes = {};
  // The value that the nodes compute.
  Value* result = nullptr;
  LinearParts parts = {};
  // The last input of a Gemm or of MatMulNBits, which the product adds; null for none.
  Value* term = nullptr;
};

// Read a product with a constant weight: a MatMulInteger; a MatMul or Gemm of operands that come
// from DequantizeLinear; a MatMulNBits. They return false, without a trace in the patch, for
// others, else they fill `match`, but for the bias.
bool ReadIntegerProduct(RuleContext& context, const Node& node, Patch& patch, LinearMatch& match);
bool ReadDequantizedProduct(RuleContext& context, const Node& node, Patch& patch,
                            LinearMatch& match);
bool ReadNBitProduct(RuleContext& context, const Node& node, Patch& patch, LinearMatch& match);

// True if the Gemm computes X·W + C, with W perhaps transposed.
bool IsPlainGemm(const Node& gemm);

// True if `value` is a constant of one element for each of the `columns` on its last axis and has
// no more axes than `rank`, that of the product.
bool IsBias(const Value* value, int64_t columns, int rank);

// Looks for an Add of such a constant that is the only reader of the match's result. Takes the node
// into the match and returns the bias; returns null if there is none.
Value* TakeBiasAdd(RuleContext& context, int64_t columns, LinearMatch& match);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_LINEAR_LINEAR_MATCH_H_
