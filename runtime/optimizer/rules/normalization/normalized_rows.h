// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_NORMALIZATION_NORMALIZED_ROWS_H_
#define ATTNRUN_OPTIMIZER_RULES_NORMALIZATION_NORMALIZED_ROWS_H_

#include <optional>

#include "optimizer/rewrite/patch.h"
#include "optimizer/rewrite/pattern.h"

// What the layer norms are decomposed into. A row is the last axis.
namespace attnrun::opt {

// Rows over the root of their mean square, with what is done to the quotient:
//   y = x / sqrt(mean(x^2) + epsilon) [* scale] [+ bias]
// the root as Sqrt or Pow 0.5, its inverse as Div, Reciprocal or Pow -0.5, the square as Pow or
// Mul.
struct NormalizedRows {
  // As the quotient has it, before any Cast from a 16-bit float to a wider one.
  Value* x = nullptr;
  double epsilon = 0;
  // Null: none.
  Value* scale = nullptr;
  Value* bias = nullptr;
  Value* y = nullptr;
  // All of the above, but for Casts of x.
  MatchedNodes nodes;
};

// The quotient that `node`, a Mul or Div, computes.
std::optional<NormalizedRows> FindNormalizedRows(Node* node, Facts& facts);

// Adds a scale (and a bias), values of one axis or constants that amount to that, and a Cast before
// them to a narrower type. Values that others read end the chain.
void TakeRowParameters(const Graph& graph, Facts& facts, bool with_bias, NormalizedRows& rows);

// Puts `op_type` in the place of the rows. False, with a near miss at `anchor`, if they may not go
// or if the row's length would have to be known and is not.
bool ReplaceRows(RuleContext& context, Patch& patch, const Node& anchor, const char* op_type,
                 const NormalizedRows& rows);

// A norm whose scale is 1 and that only Muls by constant rows read, as where norms with scales of
// their own share what they normalize: each of them becomes a norm of that scale. False if that is
// not so.
bool ScaleByReader(const RuleContext& context, Patch& patch, Node* norm);

// The mean over the last axis, which stays as an axis of extent 1.
Pattern LastAxisMean(Pattern inner);
// 1 / sqrt(mean(x^2) + epsilon), an intermediate Cast included.
Pattern InverseRoot(Value** x, double* epsilon);
// The value that a Cast from a 16-bit float to float or double has converted, else the value.
Value* BeforeWidening(Value* value, Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_NORMALIZATION_NORMALIZED_ROWS_H_
