// SPDX-License-Identifier: Apache-2.0
#include "ops/composite/composite.h"

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "graph/type.h"
#include "ops/composite/reference_steps.h"
#include "ops/composite/step_node.h"
#include "ops/interface/optional_input.h"
#include "ops/interface/registry.h"

namespace attnrun::ops {
namespace {

// A body whose nodes are in no graph: each is looked at when it is written.
class DetachedBody : public Body {
 public:
  Value* input(int i) const override { return i < std::ssize(inputs_) ? inputs_[i] : nullptr; }
  const ValueFacts& Of(const Value* value) override {
    static const ValueFacts* const kUnknown = new ValueFacts();
    const auto known = facts_.find(value);
    return known == facts_.end() ? *kUnknown : known->second;
  }
  Value* Constant(absl::StatusOr<Tensor> tensor) override {
    if (tensor.ok()) return Add(*tensor);
    Fail(std::string(tensor.status().message()));
    return nullptr;
  }

 protected:
  void AddInput(Value* value) { inputs_.push_back(value); }
  Value* Add(ValueFacts facts) {
    Value* value = &values_.emplace_back();
    facts_.emplace(value, std::move(facts));
    return value;
  }
  // A value whose elements are known.
  Value* Add(const Tensor& tensor) {
    Value* value = Add(FactsOf(tensor));
    tensors_.emplace(value, tensor);
    return value;
  }
  // Undefined if the elements are not known.
  Tensor TensorOf(const Value* value) const {
    const auto known = tensors_.find(value);
    return known == tensors_.end() ? Tensor() : known->second;
  }

 private:
  std::deque<Value> values_;
  std::vector<Value*> inputs_;
  // References to facts stay valid.
  absl::node_hash_map<const Value*, ValueFacts> facts_;
  absl::flat_hash_map<const Value*, Tensor> tensors_;
};

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
    for (ValueFacts& facts : results) values.push_back(Add(std::move(facts)));
    return values;
  }

  void SetOutputs() {
    if (failed()) return;
    for (auto& [i, facts] : outputs_) context_.SetOutput(i, std::move(facts));
  }

 private:
  // Infers the outputs of a node; nothing if the operator does not take these inputs.
  void InferStep(const std::string& op_type, const std::vector<Value*>& inputs,
                 AttributeMap attributes, std::vector<ValueFacts>& results) {
    std::vector<const ValueFacts*> facts;
    std::vector<std::optional<Type>> types;
    std::vector<Tensor> tensors;
    std::vector<const Tensor*> constants;
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
  }

  InferContext& context_;
  std::vector<std::pair<int, ValueFacts>> outputs_;
};

bool IsNarrow(DataType type) { return type == DataType::kFloat16 || type == DataType::kBfloat16; }

class RunningBody final : public DetachedBody {
 public:
  explicit RunningBody(OpContext& context) : context_(context) {
    for (int i = 0; i < context.num_inputs(); ++i) {
      AddInput(context.has_input(i) ? Add(Widened(context.input(i))) : nullptr);
    }
  }

  bool wants(int output) const override { return context_.wants_output(output); }
  void Give(Value* value, int output) override { outputs_.emplace_back(output, TensorOf(value)); }

  std::vector<Value*> AddNode(const std::string& op_type, int outputs, std::vector<Value*> inputs,
                              AttributeMap attributes) override {
    std::vector<Tensor> results(outputs);
    if (status_.ok() && !failed()) {
      std::vector<Tensor> tensors;
      for (const Value* value : inputs) tensors.push_back(TensorOf(value));
      auto step = RunStep(op_type, outputs, tensors, std::move(attributes), context_.allocator());
      if (step.ok()) results = *std::move(step);
      const absl::Status& status = step.status();
      status_ = absl::Status(status.code(), absl::StrCat(op_type, ": ", status.message()));
    }
    std::vector<Value*> values;
    for (const Tensor& tensor : results) {
      values.push_back(tensor.defined() ? Add(tensor) : Add(ValueFacts()));
    }
    return values;
  }

  // `types`: those of the outputs.
  absl::Status Finish(absl::Span<const ValueFacts> types) {
    ATTNRUN_RETURN_IF_ERROR(status_);
    if (failed()) return absl::InvalidArgumentError(error());
    for (auto& [i, tensor] : outputs_) {
      if (!context_.wants_output(i)) continue;
      if (widened_ && IsNarrow(types[i].type)) {
        ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> numbers, ToDoubles(tensor));
        ATTNRUN_ASSIGN_OR_RETURN(
            tensor, FromDoubles(types[i].type, tensor.shape(), numbers, context_.allocator()));
      }
      context_.SetOutput(i, std::move(tensor));
    }
    return absl::OkStatus();
  }

  bool widened() const { return widened_; }

 private:
  Tensor Widened(const Tensor& tensor) {
    if (!IsNarrow(tensor.type())) return tensor;
    widened_ = true;
    const absl::StatusOr<std::vector<double>> numbers = ToDoubles(tensor);
    absl::StatusOr<Tensor> wide =
        numbers.ok() ? FromDoubles(DataType::kFloat, tensor.shape(), *numbers, context_.allocator())
                     : numbers.status();
    status_.Update(wide.status());
    return wide.ok() ? *std::move(wide) : tensor;
  }

  OpContext& context_;
  absl::Status status_;
  std::vector<std::pair<int, Tensor>> outputs_;
  bool widened_ = false;
};

// The types of the outputs that the body gives for these inputs.
std::vector<ValueFacts> InferOutputs(const OpContext& context,
                                     absl::FunctionRef<void(Body&)> write) {
  std::vector<ValueFacts> inputs(context.num_inputs());
  std::vector<const ValueFacts*> facts;
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (context.has_input(i)) inputs[i] = FactsOf(context.input(i));
    facts.push_back(context.has_input(i) ? &inputs[i] : nullptr);
  }
  std::vector<const Tensor*> constants;
  for (int i = 0; i < context.num_inputs(); ++i) constants.push_back(OptionalInput(context, i));
  std::vector<ValueFacts> outputs(context.num_outputs());
  InferContext infer(facts, constants, absl::MakeSpan(outputs));
  InferThroughBody(infer, write);
  return outputs;
}

}  // namespace

absl::Status RunBody(OpContext& context, absl::FunctionRef<void(Body&)> write) {
  RunningBody body(context);
  write(body);
  return body.Finish(body.widened() ? InferOutputs(context, write) : std::vector<ValueFacts>());
}

void InferThroughBody(InferContext& context, absl::FunctionRef<void(Body&)> write) {
  InferredBody body(context);
  write(body);
  body.SetOutputs();
}

}  // namespace attnrun::ops
