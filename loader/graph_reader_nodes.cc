// SPDX-License-Identifier: Apache-2.0
// The part of GraphReader that makes nodes and connects them.
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/quote.h"
#include "core/status.h"
#include "loader/attributes.h"
#include "loader/graph_reader.h"

namespace attnrun::loader {
namespace {

using onnx::GraphProto;
using onnx::NodeProto;

// "node 'a' (Add)", as Node::description, for nodes that are not yet made.
std::string Describe(const NodeProto& proto) {
  return absl::StrCat("node ", Quoted(proto.name()), " (", Shortened(proto.op_type()), ")");
}

// The number of inputs or outputs, without empty names at the end, which have no meaning.
template <typename Names>
int CountNames(const Names& names) {
  int count = names.size();
  while (count > 0 && names.Get(count - 1).empty()) --count;
  return count;
}

}  // namespace

absl::Status GraphReader::DeclareNodes(const NodeProtos& nodes, Scope& scope) {
  for (const NodeProto& proto : nodes) {
    const onnx::FunctionProto* function = context_.functions.Find(proto);
    const NodeProto* node = function == nullptr ? &proto : AsOperator(*function, proto, scope);
    ATTNRUN_RETURN_IF_ERROR(node != nullptr
                                ? DeclareNode(*node, scope)
                                : Annotate(Inline(*function, proto, scope), Describe(proto)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> GraphReader::OutputNames(const NodeProto& proto,
                                                                  Scope& scope,
                                                                  absl::string_view description) {
  const bool in_body = scope.caller != nullptr;
  std::vector<std::string> names;
  for (int i = 0; i < CountNames(proto.output()); ++i) {
    std::string name = proto.output(i);
    if (in_body && !name.empty()) {
      if (scope.formal_inputs.contains(name) || scope.values.contains(name)) {
        return absl::InvalidArgumentError(
            absl::StrCat("the name ", Quoted(name), " is defined twice in ",
                         loader::Describe(*scope.frame->function), ", by ", description));
      }
      const auto it = scope.output_names.find(name);
      name = it != scope.output_names.end() ? it->second
                                            : InventName(absl::StrCat(scope.frame->prefix, name));
    }
    if (!name.empty()) ATTNRUN_RETURN_IF_ERROR(CheckUndefined(name, description));
    names.push_back(std::move(name));
  }
  return names;
}

absl::Status GraphReader::DeclareNode(const NodeProto& proto, Scope& scope) {
  if (proto.op_type().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(Describe(proto), " has no op type"));
  }
  NodeSpec spec;
  spec.name = context_.node_names.Unique(
      proto.name().empty() ? "" : absl::StrCat(scope.frame->prefix, proto.name()),
      absl::StrCat(scope.frame->prefix, proto.op_type()));
  spec.op_type = proto.op_type();
  spec.domain = NormalizeDomain(proto.domain());
  const std::string description =
      absl::StrCat("node ", Quoted(spec.name), " (", Shortened(spec.op_type), ")");
  const absl::StatusOr<int> opset = FindOpset(*scope.frame, spec.domain);
  if (!opset.ok()) return Annotate(opset.status(), description);
  spec.opset = *opset;
  spec.inputs.resize(CountNames(proto.input()));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<std::string> outputs,
                           OutputNames(proto, scope, description));
  absl::StatusOr<Node*> node = graph_->AddNode(std::move(spec), outputs);
  if (!node.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(description, ": ", node.status().message()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].empty()) scope.values[proto.output(i)] = (*node)->output(i);
  }
  pending_.push_back({*node, &proto, &scope});
  return absl::OkStatus();
}

absl::Status GraphReader::Connect(const Pending& pending) {
  ATTNRUN_RETURN_IF_ERROR(ConnectInputs(pending));
  for (const auto& attribute : pending.proto->attribute()) {
    ATTNRUN_RETURN_IF_ERROR(Annotate(SetAttribute(pending, attribute),
                                     absl::StrCat("attribute ", Quoted(attribute.name()))));
  }
  return absl::OkStatus();
}

absl::Status GraphReader::ConnectInputs(const Pending& pending) {
  for (int i = 0; i < CountNames(pending.proto->input()); ++i) {
    const std::string& name = pending.proto->input(i);
    if (name.empty()) continue;
    const std::optional<Value*> value = pending.scope->Find(name);
    if (!value.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat("nothing defines its input ", i, " ",
                                                     Quoted(name),
                                                     " (no node, graph input or initializer)"));
    }
    if (*value != nullptr) graph_->SetInput(pending.node, i, *value);
  }
  return absl::OkStatus();
}

absl::Status GraphReader::SetAttribute(const Pending& pending, const onnx::AttributeProto& proto) {
  const onnx::AttributeProto* source = &proto;
  Scope* scope = pending.scope;
  if (!proto.ref_attr_name().empty()) {
    if (scope->frame->function == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("it refers to attribute ",
                                                     Quoted(proto.ref_attr_name()),
                                                     " of a function, but is not inside one"));
    }
    const auto binding = scope->frame->attributes.find(proto.ref_attr_name());
    if (binding == scope->frame->attributes.end()) return absl::OkStatus();
    source = binding->second.proto;
    scope = binding->second.scope;
  }
  if (proto.name().empty()) return absl::InvalidArgumentError("it has no name");
  if (pending.node->attribute(proto.name()) != nullptr) {
    return absl::InvalidArgumentError("it is given twice");
  }
  ATTNRUN_ASSIGN_OR_RETURN(const auto kind, ReadAttributeKind(*source));
  if (kind == onnx::AttributeProto::GRAPH) {
    return AttachSubgraph(pending, proto.name(), source->g(), scope);
  }
  ATTNRUN_ASSIGN_OR_RETURN(AttributeValue value, ReadAttribute(*source, context_.source));
  pending.node->set_attribute(proto.name(), std::move(value));
  return absl::OkStatus();
}

absl::Status GraphReader::AttachSubgraph(const Pending& pending, const std::string& name,
                                         const GraphProto& proto, Scope* scope) {
  if (scope == nullptr || scope->graph != graph_.get()) {
    return absl::UnimplementedError(
        "a graph that a call passes into a subgraph of a function is not supported");
  }
  GraphReader reader(context_, proto, *scope->frame, scope);
  ATTNRUN_ASSIGN_OR_RETURN(std::shared_ptr<Graph> graph, reader.Read());
  graph_->AttachSubgraph(pending.node, name, std::move(graph));
  return absl::OkStatus();
}

}  // namespace attnrun::loader
