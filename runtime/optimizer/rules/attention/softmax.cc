// SPDX-License-Identifier: Apache-2.0

// Recognizes a Softmax along one axis that an exporter or a framework wrote out:
//
//   x -------.                            x
//   |         \                           |
//   |      ReduceMax           ->      Softmax
//    \      /                             |
//      Sub, Exp -----.                    y
//       |             |
//   ReduceSum ------ Div -> y
//
// The maximum may be missing, and the division may follow a product with values. With logarithms
// the forms are:
//
//   Exp(LogSoftmax(x))    Exp(x - ReduceLogSumExp(x))    Exp(x - Log(ReduceSum(Exp(x))))
//
// A maximum that is subtracted before a Softmax is dropped, since Softmax subtracts it anyway:
//
//   x -------.                            x
//   |         \                           |
//   |      ReduceMax           ->      Softmax
//    \      /                             |
//      Sub, Softmax -> y                  y
//
// Where an exponential overflows without the maximum, or all exponentials of a row are 0, the
// written form gives NaN and Softmax does not; elsewhere they are equal.

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/reduction.h"
#include "optimizer/rewrite/pattern.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// The logarithm of the sum of the exponentials of x along one axis; captures the axis.
Pattern LogSumExp(Value* const* x, int64_t* axis) {
  const Pattern exponential = Op("Exp", {Same(x)});
  return OneOf({Reduction("ReduceLogSumExp", axis, Same(x)),
                Reduction("ReduceLogSum", axis, exponential),
                Op("Log", {Reduction("ReduceSum", axis, exponential)})});
}

// x if `shifted` is x minus its maximum along the axis, else `shifted` itself. Softmax subtracts
// the maximum anyway; where it is infinite, both forms give NaN.
Value* Unshifted(Value* shifted, int64_t axis, Facts& facts, MatchedNodes& nodes) {
  Value* x = nullptr;
  int64_t max_axis = 0;
  MatchedNodes found;
  const Pattern difference = Op("Sub", {Is(&x), Reduction("ReduceMax", &max_axis, Same(&x))});
  if (!difference.Match(shifted, facts, found) || max_axis != axis) return shifted;
  nodes.insert(nodes.end(), found.begin(), found.end());
  return x;
}

bool ProposeUnshifted(RuleContext& context, Node* softmax, Patch& patch) {
  const auto axis = SoftmaxAxis(*softmax, context.facts);
  MatchedNodes nodes;
  if (!axis.has_value()) return false;
  Value* x = Unshifted(softmax->input(0), *axis, context.facts, nodes);
  if (x == softmax->input(0)) return false;
  patch.Rewrite(softmax, {x}, {{"axis", *axis}});
  return true;
}

// Writes Softmax(x) in place of the nodes, the last of which is `root`.
Value* SoftmaxInPlace(Node* root, const MatchedNodes& nodes, Value* x, int64_t axis, Patch& patch) {
  patch.Supersede(nodes);
  return patch.Op("Softmax", {x}, {{"axis", axis}}, root->name());
}

bool ProposeOfLogarithm(RuleContext& context, Node* exp, Patch& patch) {
  MatchedNodes nodes;
  std::optional<int64_t> axis = -1;
  Value* x = nullptr;
  Node* logarithm = nullptr;
  const Pattern power = Op("Exp", {OneOf({Op("LogSoftmax", {Is(&x)}, &logarithm),
                                          Op("Sub", {Is(&x), LogSumExp(&x, &*axis)})})});
  if (!power.Match(exp->output(0), context.facts, nodes)) return false;
  if (logarithm != nullptr) axis = SoftmaxAxis(*logarithm, context.facts);
  if (!axis.has_value()) return false;
  Value* softmax = SoftmaxInPlace(exp, nodes, x, *axis, patch);
  if (softmax == nullptr) return false;
  return patch.Replace(exp->output(0), softmax);
}

// Reports near misses: exp(x) divided by its sum, or by a modified sum of itself.
void ReportOtherSums(RuleContext& context, const Node& quotient) {
  constexpr int kMaxSteps = 3;
  const Value* summed = quotient.input(0);
  const Node* exp = summed->producer();
  const auto is_exp = [](const Value* x) { return x != nullptr && IsOp(x->producer(), "Exp"); };
  const bool changed = !is_exp(summed) && exp != nullptr && ops::TraitsOf(*exp).elementwise &&
                       absl::c_any_of(exp->inputs(), is_exp);
  if (!is_exp(summed) && !changed) return;
  const Node* step = nullptr;
  const Node* sum = quotient.input(1)->producer();
  const auto is_sum = [&] { return sum->input(0) == summed && ops::TraitsOf(*sum).reduces; };
  for (int i = 0; i < kMaxSteps && sum != nullptr && !is_sum(); ++i) {
    step = sum;
    sum = sum->input(0) == nullptr ? nullptr : sum->input(0)->producer();
  }
  // A term added to the sum is left to the rule softmax_with_sink.
  if (sum == nullptr || !is_sum() || IsOp(step, "Add")) return;
  if (changed) {
    context.Miss(quotient, absl::StrCat("between the exponentials and their sum stands ",
                                        exp->description()));
  } else if (step != nullptr) {
    context.Miss(quotient, absl::StrCat("between the exponentials' sum and the quotient stands ",
                                        step->description()));
  }
}

// Rewrites exponentials divided by their sum, before or after a product with values.
bool ProposeQuotient(RuleContext& context, Node* node, Patch& patch) {
  Facts& facts = context.facts;
  Value* e = nullptr;
  Value* shifted = nullptr;
  Value* values = nullptr;
  Node* product = nullptr;
  int64_t axis = 0;
  MatchedNodes nodes;
  const Pattern exponential = Keep(&e, Op("Exp", {Is(&shifted)}));
  const Pattern weighted = Op("MatMul", {exponential, Is(&values)}, &product);
  const Pattern sum = Reduction("ReduceSum", &axis, Same(&e));
  const auto by_sum = [&](const Pattern& x) {
    return OneOf({Op("Div", {x, sum}), Op("Mul", {x, Op("Reciprocal", {sum})})})
        .Match(node->output(0), facts, nodes);
  };
  const bool behind = !by_sum(exponential);
  if (behind && (!by_sum(weighted) || axis != -1 || facts.RankOf(values) < 2)) {
    if (IsDivOrSub(node)) ReportOtherSums(context, *node);
    return false;
  }
  Value* x = Unshifted(shifted, axis, facts, nodes);
  Value* result = SoftmaxInPlace(node, nodes, x, axis, patch);
  if (result == nullptr) return false;
  if (behind) result = patch.Op("MatMul", {result, values}, {}, product->name());
  return patch.Replace(node->output(0), result);
}

}  // namespace

extern const Rule kSoftmax = {.name = "softmax",
                              .summary = "Exponentials divided by their sum become Softmax",
                              .starts = {{{"Softmax", ProposeUnshifted},
                                          {"Exp", ProposeOfLogarithm},
                                          {"Div", ProposeQuotient},
                                          {"Mul", ProposeQuotient}}}};

}  // namespace attnrun::opt
