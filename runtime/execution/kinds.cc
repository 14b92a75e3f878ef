// SPDX-License-Identifier: Apache-2.0
#include "execution/kinds.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/quote.h"
#include "core/status.h"
#include "ops/interface/registry.h"

namespace attnrun::exec {
namespace {

using Kinds = std::vector<ValueKind>;

void Note(Value* value, ValueKind kind) {
  if (value->type().kind == kind) return;
  Type type = value->type();
  type.kind = kind;
  value->set_type(std::move(type));
}

absl::StatusOr<Kinds> InGraph(Graph& graph, absl::Span<const ValueKind> inputs);

// The rule of an operator that does not speak of kinds: it works on tensors, and so do its bodies.
absl::Status TensorsOnly(ops::KindContext& context) {
  for (size_t i = 0; i < context.inputs.size(); ++i) {
    ATTNRUN_RETURN_IF_ERROR(ops::CheckKind(context, i, ValueKind::kTensor));
  }
  for (const auto& [name, attribute] : context.node.attributes()) {
    const auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute);
    if (body == nullptr) continue;
    const Kinds tensors((*body)->inputs().size(), ValueKind::kTensor);
    ATTNRUN_ASSIGN_OR_RETURN(const Kinds results, context.body(name, tensors));
    for (const ValueKind kind : results) {
      if (kind == ValueKind::kTensor) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("the outputs of '", name, "' must be tensors, but one is a ", Name(kind)));
    }
  }
  return absl::OkStatus();
}

absl::Status InNode(const Node& node) {
  Kinds inputs;
  for (const Value* value : node.inputs()) {
    inputs.push_back(value == nullptr ? ValueKind::kTensor : value->type().kind);
  }
  Kinds outputs(node.outputs().size(), ValueKind::kTensor);
  const auto body = [&](absl::string_view name,
                        absl::Span<const ValueKind> kinds) -> absl::StatusOr<Kinds> {
    const AttributeValue* attribute = node.attribute(name);
    const auto* graph =
        attribute == nullptr ? nullptr : std::get_if<std::shared_ptr<Graph>>(attribute);
    if (graph == nullptr) return Kinds();
    return InGraph(**graph, kinds);
  };
  ops::KindContext context = {node, inputs, body, absl::MakeSpan(outputs)};
  const ops::KindRule rule = ops::TraitsOf(node).kinds;
  ATTNRUN_RETURN_IF_ERROR(rule == nullptr ? TensorsOnly(context) : rule(context));
  for (size_t i = 0; i < outputs.size(); ++i) {
    Value* value = node.outputs()[i];
    if (value == nullptr) continue;
    // A value that is declared an optional stays one.
    const absl::StatusOr<ValueKind> common = ops::CommonKind(outputs[i], value->type().kind);
    Note(value, IsOptional(value->type().kind) && common.ok() ? *common : outputs[i]);
  }
  return absl::OkStatus();
}

absl::StatusOr<Kinds> InGraph(Graph& graph, absl::Span<const ValueKind> inputs) {
  for (Value* capture : graph.captures()) Note(capture, capture->outer()->type().kind);
  // A run refuses a wrong number of inputs.
  for (size_t i = 0; i < std::min(inputs.size(), graph.inputs().size()); ++i) {
    Note(graph.inputs()[i], inputs[i]);
  }
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Node*> order, graph.TopologicalOrder());
  for (const Node* node : order) {
    ATTNRUN_RETURN_IF_ERROR(Annotate(InNode(*node), node->description()));
  }
  Kinds outputs;
  for (const Value* value : graph.outputs()) outputs.push_back(value->type().kind);
  return outputs;
}

absl::Status CheckKnown(const std::vector<Value*>& values) {
  for (const Value* value : values) {
    if (value->type().other.empty()) continue;
    return absl::UnimplementedError(
        absl::StrCat(Quoted(value->name()), " is a ", value->type().other,
                     "; only tensors, sequences of tensors and optionals of these are supported"));
  }
  return absl::OkStatus();
}

Kinds KindsOf(const std::vector<Value*>& values) {
  Kinds kinds;
  for (const Value* value : values) kinds.push_back(value->type().kind);
  return kinds;
}

}  // namespace

absl::Status FindKinds(Graph& graph) {
  ATTNRUN_RETURN_IF_ERROR(CheckKnown(graph.inputs()));
  ATTNRUN_RETURN_IF_ERROR(CheckKnown(graph.outputs()));
  std::vector<Type> types;
  for (const Value* value : graph.outputs()) types.push_back(value->type());
  ATTNRUN_ASSIGN_OR_RETURN(const Kinds found, InGraph(graph, KindsOf(graph.inputs())));
  for (size_t i = 0; i < found.size(); ++i) {
    const ValueKind declared = types[i].kind;
    const bool says_nothing =
        declared == ValueKind::kTensor && types[i].element == DataType::kUndefined;
    if (says_nothing) continue;
    if (ops::CommonKind(declared, found[i]).ok()) {
      // A Loop that is given an optional may return a sequence: the run finds out.
      Note(graph.outputs()[i], declared);
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat("output ", Quoted(graph.outputs()[i]->name()),
                                                   " is declared as a ", Name(declared),
                                                   ", but is a ", Name(found[i])));
  }
  return absl::OkStatus();
}

}  // namespace attnrun::exec
