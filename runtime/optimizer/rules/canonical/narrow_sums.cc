// SPDX-License-Identifier: Apache-2.0

// Running sums of integers that are widened before and narrowed after are those of the integers
// themselves, modulo 2^32:
//
//   Cast(CumSum(Cast(x: int32, int64), axis), int32)  ->  CumSum(x, axis)

#include "optimizer/analysis/node_queries.h"
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
  // Others may read the widened integers.
  patch.Supersede({node, sum});
  if (!patch.Admits({node->output(0)}, nullptr)) return false;
  patch.Replace(node->output(0), patch.Op("CumSum", {x, axis}, sum->attributes(), sum->name()));
  return true;
}

}  // namespace

extern const Rule kNarrowSums = {
    .name = "narrow_sums",
    .summary = "A CumSum of integers widened before and narrowed after it is computed as they are",
    .anchors = {"Cast"},
    .propose = NarrowSums};

}  // namespace attnrun::opt
