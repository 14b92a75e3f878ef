// SPDX-License-Identifier: Apache-2.0

// An operator that describes itself by others (see ops::Body), as most of ONNX Runtime's own do
// (domain com.microsoft), which its tools write into files, is replaced by them. All other rules
// know those. For example:
//
//   x  skip  gamma  beta  bias                   x  bias
//    \   \     |     /   /                        \  /
//   SkipLayerNormalization           ->     skip  Add
//      |             |                         \  /
//      y            sum                        Add -- sum
//                                               |   gamma  beta
//                                        LayerNormalization
//                                               |
//                                               y

#include "ops/interface/registry.h"
#include "optimizer/rewrite/patched_body.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

bool ExpandOperator(RuleContext& context, Node* node, Patch& patch) {
  const ops::OpRegistry& registry = ops::OpRegistry::Get();
  const ops::OpDef* def = registry.Find(node->domain(), node->op_type());
  if (def == nullptr || !def->has_body()) return false;
  // Only valid nodes are replaced: a body relies on the operator's inputs and attributes.
  const auto op = registry.Create(*node);
  if (!op.ok()) return false;
  PatchedBody body(context, node, patch);
  dynamic_cast<const ops::HasBody&>(**op).WriteBody(body);
  if (!body.failed() && !patch.CanApply()) {
    body.Fail("an output is read that only the operator gives");
  }
  if (!body.failed()) return true;
  context.Miss(*node, body.error());
  return false;
}

}  // namespace

extern const Rule kContribOperators = {
    .name = "contrib_operators",
    .summary =
        "An operator of com.microsoft is written in operators of the standard and of attnrun",
    .propose = ExpandOperator};

}  // namespace attnrun::opt
