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

#include "ops/composite/body.h"
#include "ops/interface/registry.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// Writes the body of a node into a patch. New nodes are named after the node.
class PatchedBody final : public ops::Body {
 public:
  PatchedBody(RuleContext& context, Node* node, Patch& patch)
      : context_(context), node_(*node), patch_(patch) {
    patch_.Supersede({node});
  }

  Value* input(int i) const override { return node_.input(i); }
  bool wants(int i) const override {
    const Value* value = node_.output(i);
    return value != nullptr && (!value->consumers().empty() || context_.graph.IsOutput(value));
  }
  void Give(Value* value, int i) override {
    if (value != nullptr && node_.output(i) != nullptr) patch_.Replace(node_.output(i), value);
  }

  std::vector<Value*> AddNode(const std::string& op_type, int outputs, std::vector<Value*> inputs,
                              AttributeMap attributes) override {
    return patch_.Ops(op_type, outputs, std::move(inputs), std::move(attributes), node_.name());
  }
  Value* Constant(absl::StatusOr<Tensor> tensor) override {
    return patch_.Constant("number", std::move(tensor));
  }
  Value* Ints(absl::Span<const int64_t> values) override { return patch_.Ints(values); }

  const ops::ValueFacts& Of(const Value* value) override {
    static const ops::ValueFacts* const kUnknown = new ops::ValueFacts();
    return value == nullptr ? *kUnknown : context_.facts.Of(value);
  }

 private:
  RuleContext& context_;
  const Node& node_;
  Patch& patch_;
};

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
