// SPDX-License-Identifier: Apache-2.0

// onnxscript writes each constant in the type of the tensor beside it. Where that type is known the
// other tensor is not needed:
//
//   0.25   scores               0.25
//     \    /    \                 |
//    CastLike    |      ->      Cast   scores
//           \    |                 \    /
//             Mul                   Mul

#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

bool NameType(RuleContext& context, Node* node, Patch& patch) {
  const DataType type = context.facts.TypeOf(node->input(1));
  if (type == DataType::kUndefined) return false;
  AttributeMap attributes = node->attributes();
  attributes["to"] = static_cast<int64_t>(type);
  return patch.Substitute(node, "Cast", {node->input(0)}, std::move(attributes));
}

}  // namespace

extern const Rule kCastLike = {.name = "cast_like",
                               .summary = "CastLike becomes a Cast to the type, where it is known",
                               .anchors = {"CastLike"},
                               .propose = NameType};

}  // namespace attnrun::opt
