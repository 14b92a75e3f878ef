// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_LINEAR_LINEAR_MATCH_H_
#define ATTNRUN_OPTIMIZER_RULES_LINEAR_LINEAR_MATCH_H_

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

// Read a product of one format. They return false, without a trace in the patch, for other nodes;
// else they fill `match`, but for the bias. The weights are constant.
bool ReadFloatProduct(RuleContext& context, Node* node, Patch& patch, LinearMatch& match);
bool ReadInt8Product(RuleContext& context, Node* node, Patch& patch, LinearMatch& match);
bool ReadNBitProduct(RuleContext& context, Node* node, Patch& patch, LinearMatch& match);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_LINEAR_LINEAR_MATCH_H_
