// SPDX-License-Identifier: Apache-2.0
#include "support/graph_builder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "support/qualified_name.h"

namespace attnrun::testing {

Value* GraphBuilder::Fail(const absl::Status& status) {
  status_.Update(status);
  return nullptr;
}

Value* GraphBuilder::Keep(absl::StatusOr<Value*> value) {
  return value.ok() ? *value : Fail(value.status());
}

Value* GraphBuilder::Input(const std::string& name, DataType type) {
  Type known;
  known.element = type;
  return Keep(graph_->AddInput(name, std::move(known)));
}

Value* GraphBuilder::Input(const std::string& name, DataType type,
                           std::initializer_list<DimSpec> shape) {
  Type known;
  known.element = type;
  known.shape.emplace();
  for (const DimSpec& spec : shape) known.shape->push_back(spec.dim);
  return Keep(graph_->AddInput(name, std::move(known)));
}

Value* GraphBuilder::Constant(const std::string& name, Tensor data) {
  return Keep(graph_->AddInitializer(graph_->UniqueName(name), std::move(data)));
}

Value* GraphBuilder::Capture(Value* outer) {
  if (outer == nullptr) return Fail(absl::InvalidArgumentError("a capture of nothing"));
  return Keep(graph_->AddCapture(graph_->UniqueName(outer->name()), outer));
}

Value* GraphBuilder::Op(const std::string& op_type, std::vector<Value*> inputs,
                        AttributeMap attributes) {
  return Ops(op_type, 1, std::move(inputs), std::move(attributes))[0];
}

std::vector<Value*> GraphBuilder::Ops(const std::string& op_type, int outputs,
                                      std::vector<Value*> inputs, AttributeMap attributes) {
  NodeSpec spec;
  const QualifiedName name(op_type);
  spec.domain = name.domain;
  spec.op_type = name.op_type;
  spec.opset = name.is_standard() ? opset_ : 1;
  spec.inputs = std::move(inputs);
  spec.attributes = std::move(attributes);
  std::vector<std::string> names;
  names.reserve(outputs);
  // The suffix keeps the names of one node's outputs apart, which the graph does not know yet.
  for (int i = 0; i < outputs; ++i) {
    names.push_back(
        graph_->UniqueName(outputs == 1 ? spec.op_type : absl::StrCat(spec.op_type, ".", i)));
  }
  const absl::StatusOr<Node*> node = graph_->AddNode(std::move(spec), names);
  if (node.ok()) return (*node)->outputs();
  Fail(node.status());
  return std::vector<Value*>(outputs, nullptr);
}

GraphBuilder& GraphBuilder::Output(Value* value) {
  if (value == nullptr) {
    Fail(absl::InvalidArgumentError("an output of nothing"));
  } else {
    graph_->AddOutput(value);
  }
  return *this;
}

absl::StatusOr<std::unique_ptr<Graph>> GraphBuilder::Build() {
  if (!status_.ok()) return status_;
  return std::move(owned_);
}

}  // namespace attnrun::testing
