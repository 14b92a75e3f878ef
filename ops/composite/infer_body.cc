// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "graph/type.h"
#include "ops/composite/composite.h"
#include "ops/composite/detached_body.h"
#include "ops/composite/step_node.h"
#include "ops/interface/registry.h"

namespace attnrun::ops {
namespace {

class InferredBody final : public DetachedBody {
 public:
  explicit InferredBody(InferContext& context) : context_(context) {
    for (int i = 0; i < context.num_inputs(); ++i) {
      const Tensor* constant = context.constant(i);
      AddInput(!context.has_input(i) ? nullptr
               : constant != nullptr ? Add(*constant)
                                     : Add(context.input(i)));
    }
  }

  bool wants(int output) const override { return output < context_.num_outputs(); }
  void Give(Value* value, int output) override {
    if (value != nullptr) outputs_.emplace_back(output, Of(value));
  }

  std::vector<Value*> AddNode(const std::string& op_type, int outputs, std::vector<Value*> inputs,
                              AttributeMap attributes) override {
    std::vector<ValueFacts> results(outputs);
    InferStep(op_type, inputs, std::move(attributes), results);
    std::vector<Value*> values;
    values.reserve(results.size());
    for (const ValueFacts& facts : results) values.push_back(Add(facts));
    return values;
  }

  // Tells of the operator what its nodes tell: it succeeds only if they all do.
  void TellAll() {
    if (failed()) return;
    for (auto& [i, facts] : outputs_) context_.SetOutput(i, std::move(facts));
    for (const SymInt& number : required_) context_.Require(number);
    for (const auto& [a, b] : equal_) context_.RequireEqual(a, b);
    for (const auto& [indices, extent] : indices_) {
      for (int i = 0; i < context_.num_inputs(); ++i) {
        if (indices != nullptr && input(i) == indices) context_.RequireIndices(i, extent);
      }
    }
  }

 private:
  // Infers the outputs of a node; nothing if the operator does not take these inputs.
  void InferStep(const std::string& op_type, const std::vector<Value*>& inputs,
                 AttributeMap attributes, std::vector<ValueFacts>& results) {
    std::vector<const ValueFacts*> facts;
    std::vector<std::optional<Type>> types;
    std::vector<Tensor> tensors;
    std::vector<const Tensor*> constants;
    constants.reserve(inputs.size());
    for (const Value* input : inputs) {
      facts.push_back(input == nullptr ? nullptr : &Of(input));
      types.push_back(input == nullptr ? std::nullopt : std::optional(Type()));
      tensors.push_back(TensorOf(input));
    }
    for (const Tensor& tensor : tensors) constants.push_back(tensor.defined() ? &tensor : nullptr);
    Graph graph;
    const absl::StatusOr<const Node*> node =
        AddStep(graph, op_type, static_cast<int>(results.size()), types, std::move(attributes));
    if (!node.ok()) return;
    const auto op = OpRegistry::Get().Create(**node);
    if (!op.ok()) return;
    InferContext context(facts, constants, absl::MakeSpan(results));
    (*op)->Infer(context);
    absl::c_copy(context.required(), std::back_inserter(required_));
    absl::c_copy(context.equal(), std::back_inserter(equal_));
    for (const auto& [i, extent] : context.indices()) indices_.emplace_back(inputs[i], extent);
  }

  InferContext& context_;
  std::vector<std::pair<int, ValueFacts>> outputs_;
  // The requirements of the nodes, as in InferContext.
  std::vector<SymInt> required_;
  std::vector<std::pair<SymInt, SymInt>> equal_;
  std::vector<std::pair<const Value*, SymInt>> indices_;
};

}  // namespace

std::string InferThroughBody(InferContext& context, absl::FunctionRef<void(Body&)> write) {
  InferredBody body(context);
  write(body);
  body.TellAll();
  return body.error();
}

}  // namespace attnrun::ops
