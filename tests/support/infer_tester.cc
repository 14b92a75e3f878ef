// SPDX-License-Identifier: Apache-2.0
#include "support/infer_tester.h"

#include <memory>

#include "absl/strings/ascii.h"
#include "ops/interface/registry.h"
#include "support/qualified_name.h"

namespace attnrun::testing {

const Node* AddTo(Graph& graph, const InferNode& node) {
  NodeSpec spec;
  const QualifiedName qualified(node.op_type);
  spec.op_type = qualified.op_type;
  spec.domain = qualified.domain;
  // Operators of other domains are of version 1.
  spec.opset = qualified.is_standard() ? node.opset : 1;
  spec.attributes = node.attributes;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const std::string name = "x" + std::to_string(i);
    const bool given = node.inputs[i].has_value();
    spec.inputs.push_back(given ? graph.AddInput(name, Type()).value() : nullptr);
  }
  std::vector<std::string> names;
  names.reserve(node.num_outputs);
  for (int i = 0; i < node.num_outputs; ++i) names.push_back("y" + std::to_string(i));
  return graph.AddNode(std::move(spec), names).value();
}

KnownNodeInputs::KnownNodeInputs(const InferNode& node, const std::vector<Tensor>& constants) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    facts.push_back(node.inputs[i].has_value() ? &*node.inputs[i] : nullptr);
    tensors.push_back(i < constants.size() && constants[i].defined() ? &constants[i] : nullptr);
  }
}

Inferred InferAll(const InferNode& node, const std::vector<Tensor>& constants) {
  Graph graph;
  const auto op = ops::OpRegistry::Get().Create(*AddTo(graph, node));
  std::vector<ops::ValueFacts> outputs(node.num_outputs);
  EXPECT_TRUE(op.ok()) << op.status();
  if (!op.ok()) return {outputs, {}, {}};
  const KnownNodeInputs known(node, constants);
  ops::InferContext context(known.facts, known.tensors, absl::MakeSpan(outputs));
  (*op)->Infer(context);
  return {outputs, context.required(), context.indices()};
}

std::vector<ops::ValueFacts> InferOutputs(const InferNode& node,
                                          const std::vector<Tensor>& constants) {
  return InferAll(node, constants).outputs;
}

ops::ValueFacts Infer(const std::string& op_type,
                      std::vector<std::optional<ops::ValueFacts>> inputs, AttributeMap attributes,
                      int opset) {
  return InferOutputs({op_type, std::move(inputs), std::move(attributes), 1, opset}).front();
}

std::string Text(const Known& list) {
  if (!list.has_value()) return "none";
  std::string text;
  for (const SymInt& element : *list) {
    if (!text.empty()) text += ',';
    // Drops the numbers of unknown extents.
    bool in_number = false;
    for (const char c : element.ToString()) {
      in_number = c == '?' || (in_number && absl::ascii_isdigit(c));
      if (!in_number || c == '?') text += c;
    }
  }
  return "[" + text + "]";
}

void ExpectRows(const std::vector<InferRow>& rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE("row " + std::to_string(i) + ", " + rows[i].node.op_type);
    const std::vector<ops::ValueFacts> outputs = InferOutputs(rows[i].node);
    std::string dims;
    for (const ops::ValueFacts& output : outputs)
      dims += (dims.empty() ? "" : " ") + Text(output.dims);
    EXPECT_EQ(dims, rows[i].dims);
    EXPECT_EQ(Text(outputs.front().contents), rows[i].contents);
  }
}

}  // namespace attnrun::testing
