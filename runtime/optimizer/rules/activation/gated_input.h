// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ACTIVATION_GATED_INPUT_H_
#define ATTNRUN_OPTIMIZER_RULES_ACTIVATION_GATED_INPUT_H_

#include <array>
#include <vector>

#include "optimizer/rewrite/patch.h"

// Activations that multiply their input by a saturating function of a polynomial in it:
//   y = coefficient * x * (offset + f(polynomial(x)))
namespace attnrun::opt {

// The sum of coefficient[i] * x^i.
using Cubic = std::array<double, 4>;

struct GatedInput {
  Value* x = nullptr;
  Cubic polynomial{};
  double coefficient = 1;
  // True if the formula is written with offset - f(-polynomial(x)), as erfc is; the polynomial is
  // that of the formula.
  bool is_reversed = false;
  Value* y = nullptr;
  // The nodes from f to y.
  std::vector<Node*> nodes;
  // The nodes that compute the argument of f and multiples of x.
  std::vector<Node*> operands;
};

// The ways in which the output of `function`, a node of one input, multiplies its input as in the
// formula. `offset` and `coefficient` are those of the formula; if the offset is not 0, f must be
// odd, that is f(-u) = -f(u). Factors of y are taken in until its coefficient is close to
// `coefficient`; the caller decides if a match is exact enough.
std::vector<GatedInput> FindGatedInputs(Node* function, double offset, double coefficient,
                                        Facts& facts);

// Replaces the nodes of a match by one of type `op_type`. Returns false, and reports a near miss at
// `function`, if another node reads a value in between.
bool ReplaceGatedInput(RuleContext& context, Patch& patch, const Node& function,
                       const GatedInput& gated, const char* op_type, AttributeMap attributes);

// True if the coefficients agree up to the rounding of constants in elements of `type`.
bool IsClose(const Cubic& actual, const Cubic& expected, DataType type);
bool IsClose(double actual, double expected, DataType type);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ACTIVATION_GATED_INPUT_H_
