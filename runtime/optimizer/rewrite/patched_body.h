// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_REWRITE_PATCHED_BODY_H_
#define ATTNRUN_OPTIMIZER_REWRITE_PATCHED_BODY_H_

#include <string>
#include <utility>
#include <vector>

#include "ops/composite/body.h"
#include "optimizer/analysis/facts.h"
#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// Writes into a patch what takes the place of a node. New nodes are named after the node.
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

  const ops::ValueFacts& Of(const Value* value) override { return context_.facts.Of(value); }

 private:
  RuleContext& context_;
  const Node& node_;
  Patch& patch_;
};

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_REWRITE_PATCHED_BODY_H_
