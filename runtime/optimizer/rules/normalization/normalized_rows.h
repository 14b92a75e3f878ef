// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_NORMALIZATION_NORMALIZED_ROWS_H_
#define ATTNRUN_OPTIMIZER_RULES_NORMALIZATION_NORMALIZED_ROWS_H_

#include <optional>

#include "optimizer/rewrite/patch.h"
#include "optimizer/rewrite/pattern.h"

// Parts of the layer norms that rules recognize in graphs that write them out. A row is the last
// axis.
namespace attnrun::opt {

// Rows divided by the root of their mean square, followed by a scale and a bias:
//   y = x / sqrt(mean(x^2) + epsilon) [* scale] [+ bias]
// The root is a Sqrt or Pow 0.5, its inverse a Div, Reciprocal or Pow -0.5, the square a Pow or
// Mul.
struct NormalizedRows {
  // The rows before any Cast from a 16-bit float to a wider one.
  Value* x = nullptr;
  double epsilon = 0;
  // Null if there is none.
  Value* scale = nullptr;
  Value* bias = nullptr;
  Value* y = nullptr;
  // All nodes of the formula, except Casts of x.
  MatchedNodes nodes;
};

// The quotient that `node`, a Mul or Div, computes; nullopt if it computes none.
std::optional<NormalizedRows> FindNormalizedRows(Node* node, Facts& facts);

// Adds a scale, and a bias if `with_bias`, that follow the quotient: values of one axis, or
// constants that are the same for all rows. Also takes a Cast to a narrower type before them. Stops
// at a value that other nodes read.
void TakeRowParameters(const Graph& graph, Facts& facts, bool with_bias, NormalizedRows& rows);

// Replaces the nodes by one `op_type`. Returns false, and reports a near miss at `anchor`, if other
// nodes read a value in between or if the row's length must be known and is not.
bool ReplaceRows(RuleContext& context, Patch& patch, const Node& anchor, const char* op_type,
                 const NormalizedRows& rows);

// Norms with scales of their own may share a norm whose scale is 1. If only Muls by constant rows
// read such a norm, each of them becomes a norm with that scale. Returns false otherwise.
bool ScaleByReader(RuleContext& context, Node* norm, Patch& patch);

// True if the value is a row of `length` elements that is the same for all rows of `rank` axes.
bool IsRowParameter(const Value* value, int64_t length, int rank, Facts& facts);
// The scale of rows that have none.
Value* Ones(Patch& patch, DataType type, int64_t length);
// Matches the mean over the last axis, which stays with extent 1.
Pattern LastAxisMean(Pattern inner);
// Matches 1 / sqrt(mean(x^2) + epsilon), with or without a Cast in between.
Pattern InverseRoot(Value** x, double* epsilon);
// The input of a Cast from a 16-bit float to float or double, else the value itself.
Value* BeforeWidening(Value* value, Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_NORMALIZATION_NORMALIZED_ROWS_H_
