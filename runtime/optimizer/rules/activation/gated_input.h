// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ACTIVATION_GATED_INPUT_H_
#define ATTNRUN_OPTIMIZER_RULES_ACTIVATION_GATED_INPUT_H_

#include <vector>

#include "optimizer/rewrite/patch.h"
#include "optimizer/rules/activation/polynomial.h"

// Activations that multiply their input by a saturating function of a polynomial in it:
//   y = coefficient * x * (offset + f(polynomial(x)))
namespace attnrun::opt {

struct GatedInput {
  Value* x = nullptr;
  Cubic polynomial{};
  double coefficient = 1;
  Value* y = nullptr;
  // From f to y.
  std::vector<Node*> nodes;
  // What computes the argument of f and multiples of x.
  std::vector<Node*> operands;
};

// The ways to read what becomes of the output of `function`, a node of one input. `offset` and
// `coefficient`: those of the formula; numbers that y is multiplied by are taken in until the
// coefficient is reached, roughly: the caller decides whether what is found will do.
std::vector<GatedInput> FindGatedInputs(Node* function, double offset, double coefficient,
                                        Facts& facts);

// Puts a node of type `op_type` in the place of all that. False, with a near miss at `function`, if
// something else reads a value between.
bool ReplaceGatedInput(RuleContext& context, Patch& patch, const Node& function,
                       const GatedInput& gated, const char* op_type, AttributeMap attributes);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ACTIVATION_GATED_INPUT_H_
