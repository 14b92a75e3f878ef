// SPDX-License-Identifier: Apache-2.0

// A square that is written as a power becomes a product, the form that most exporters write:
//
//   Pow(x, 2)  ->  Mul(x, x)

#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

bool MultiplySquares(RuleContext& context, Node* node, Patch& patch) {
  Facts& facts = context.facts;
  if (ScalarOf(node->input(1)) != 2) return false;
  Value* x = node->input(0);
  // An exponent that has more axes than x would add axes to the result.
  const int rank = facts.RankOf(x);
  if (rank < 0 || facts.RankOf(node->output(0)) != rank) return false;
  return patch.Substitute(node, "Mul", {x, x});
}

}  // namespace

extern const Rule kSquares = {.name = "squares",
                              .summary = "Pow(x, 2) becomes Mul(x, x)",
                              .anchors = {"Pow"},
                              .propose = MultiplySquares};

}  // namespace attnrun::opt
