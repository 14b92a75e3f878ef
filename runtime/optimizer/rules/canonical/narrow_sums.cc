// SPDX-License-Identifier: Apache-2.0

// PyTorch computes running sums of int32 in int64, and models narrow the result again. Modulo 2^32
// the result is the running sum in int32, so CumSum works on the narrow integers:
//
//   Cast(CumSum(Cast(x: int32, int64), axis), int32)  ->  CumSum(x, axis)

#include "optimizer/rewrite/pattern.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

bool NarrowSums(RuleContext& context, Node* node, Patch& patch) {
  Facts& facts = context.facts;
  Value* x = nullptr;
  Value* wide = nullptr;
  Value* axis = nullptr;
  Node* sum = nullptr;
  const Pattern narrowed =
      Op("Cast", {Op("CumSum", {Keep(&wide, Op("Cast", {Is(&x)})), Is(&axis)}, &sum)});

  MatchedNodes nodes;
  if (!narrowed.Match(node->output(0), facts, nodes)) return false;
  const bool narrows = facts.TypeOf(node->output(0)) == DataType::kInt32;
  if (!narrows || facts.TypeOf(wide) != DataType::kInt64) return false;
  if (facts.TypeOf(x) != DataType::kInt32) return false;
  // The widening Cast stays, since other nodes may read it.
  Value* y = patch.Op("CumSum", {x, axis}, sum->attributes(), sum->name());
  return patch.Substitute({node, sum}, node->output(0), y) && patch.CanApply();
}

}  // namespace

extern const Rule kNarrowSums = {
    .name = "narrow_sums",
    .summary =
        "A CumSum of widened integers that is narrowed afterwards works on the narrow integers",
    .anchors = {"Cast"},
    .propose = NarrowSums};

}  // namespace attnrun::opt
