#include "loader/graph_reader.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "loader/attributes.h"
#include "loader/skeleton.h"
#include "loader/type_reader.h"

namespace attnrun {
namespace {

using onnx::GraphProto;
using onnx::NodeProto;

// "node 'a' (Add)"; what Node::description says before there is a Node.
std::string Describe(const NodeProto& proto) {
  return absl::StrCat("node '", proto.name(), "' (", proto.op_type(), ")");
}

// What defines a value, for messages.
std::string DefinitionOf(const Value& value) {
  if (value.producer() != nullptr) return value.producer()->description();
  if (value.is_input()) return "a graph input";
  return value.constant() != nullptr ? "an initializer" : "the enclosing graph";
}

// The inputs or outputs of a node without the empty names at the end, which mean nothing.
template <typename Names>
int CountNames(const Names& names) {
  int count = names.size();
  while (count > 0 && names.Get(count - 1).empty()) --count;
  return count;
}

}  // namespace

GraphReader::GraphReader(ModelContext& context, const GraphProto& proto, const Frame& frame,
                         Scope* enclosing)
    : context_(context), proto_(proto), graph_(std::make_unique<Graph>()) {
  scope_.graph = graph_.get();
  scope_.frame = &frame;
  scope_.enclosing = enclosing;
  scope_.nesting = enclosing == nullptr ? 0 : enclosing->nesting + 1;
}

absl::StatusOr<std::unique_ptr<Graph>> GraphReader::Read() {
  if (scope_.nesting > kMaxNesting) {
    return absl::InvalidArgumentError(
        absl::StrCat("subgraphs and function calls are nested more than ", kMaxNesting, " deep"));
  }
  graph_->set_name(proto_.name());
  ReserveNames();
  ATTNRUN_RETURN_IF_ERROR(DefineInputs());
  ATTNRUN_RETURN_IF_ERROR(DefineInitializers());
  ATTNRUN_RETURN_IF_ERROR(DeclareNodes(proto_.node(), scope_));
  ATTNRUN_RETURN_IF_ERROR(DeclareTypes(proto_.output()));
  ATTNRUN_RETURN_IF_ERROR(DeclareTypes(proto_.value_info()));
  for (const Pending& pending : pending_) {
    ATTNRUN_RETURN_IF_ERROR(Annotate(Connect(pending), pending.node->description()));
  }
  ATTNRUN_RETURN_IF_ERROR(DefineOutputs());
  ATTNRUN_RETURN_IF_ERROR(graph_->TopologicalOrder().status());
  return std::move(graph_);
}

absl::Status GraphReader::CheckUndefined(const std::string& name,
                                         absl::string_view definition) const {
  const Value* value = graph_->FindValue(name);
  if (value == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the name '", name, "' is defined twice: by ",
                                                 DefinitionOf(*value), " and by ", definition));
}

void GraphReader::ReserveNames() {
  if (context_.functions.empty()) return;
  for (const auto& input : proto_.input()) reserved_names_.insert(input.name());
  for (const auto& initializer : proto_.initializer()) reserved_names_.insert(initializer.name());
  for (const NodeProto& node : proto_.node()) {
    reserved_names_.insert(node.output().begin(), node.output().end());
  }
}

absl::Status GraphReader::DefineInputs() {
  // Before IR version 4 every initializer had to be an input as well; such inputs are constants.
  absl::flat_hash_set<std::string> constants;
  if (context_.ir_version < 4 && scope_.enclosing == nullptr) {
    for (const auto& initializer : proto_.initializer()) constants.insert(initializer.name());
  }
  for (int i = 0; i < proto_.input_size(); ++i) {
    const auto& input = proto_.input(i);
    if (constants.contains(input.name())) continue;
    if (input.name().empty()) {
      return absl::InvalidArgumentError(absl::StrCat("graph input ", i, " has no name"));
    }
    ATTNRUN_RETURN_IF_ERROR(CheckUndefined(input.name(), "another graph input"));
    absl::StatusOr<Type> type = ReadType(input.type());
    if (!type.ok()) {
      return Annotate(type.status(), absl::StrCat("graph input '", input.name(), "'"));
    }
    ATTNRUN_ASSIGN_OR_RETURN(scope_.values[input.name()],
                             graph_->AddInput(input.name(), *std::move(type)));
  }
  return absl::OkStatus();
}

absl::Status GraphReader::DefineInitializers() {
  for (const auto& initializer : proto_.initializer()) {
    ATTNRUN_RETURN_IF_ERROR(
        Annotate(DefineInitializer(initializer.name(), ReadTensor(initializer, context_.source)),
                 absl::StrCat("initializer '", initializer.name(), "'")));
  }
  for (const auto& initializer : proto_.sparse_initializer()) {
    const std::string& name = initializer.values().name();
    ATTNRUN_RETURN_IF_ERROR(
        Annotate(DefineInitializer(name, ReadSparseTensor(initializer, context_.source)),
                 absl::StrCat("sparse initializer '", name, "'")));
  }
  if (context_.ir_version < 4 && scope_.enclosing == nullptr) return DeclareTypes(proto_.input());
  return absl::OkStatus();
}

absl::Status GraphReader::DefineInitializer(const std::string& name, absl::StatusOr<Tensor> data) {
  if (!data.ok()) return data.status();
  if (name.empty()) return absl::InvalidArgumentError("it has no name");
  if (Value* value = graph_->FindValue(name); value != nullptr && value->constant() == nullptr) {
    ATTNRUN_RETURN_IF_ERROR(CheckDeclaration(name, *data, value->type()));
    graph_->SetDefault(value, *std::move(data));
    return absl::OkStatus();
  }
  ATTNRUN_RETURN_IF_ERROR(CheckUndefined(name, "another initializer"));
  ATTNRUN_ASSIGN_OR_RETURN(scope_.values[name], graph_->AddInitializer(name, *std::move(data)));
  return absl::OkStatus();
}

absl::Status GraphReader::DeclareTypes(
    const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& declarations) {
  for (const auto& declaration : declarations) {
    Value* value = graph_->FindValue(declaration.name());
    // Exporters leave entries behind for values they removed.
    if (value == nullptr) continue;
    absl::StatusOr<Type> type = ReadType(declaration.type());
    if (!type.ok()) {
      return Annotate(type.status(), absl::StrCat("the type of '", declaration.name(), "'"));
    }
    ATTNRUN_RETURN_IF_ERROR(Declare(value, *type));
  }
  return absl::OkStatus();
}

absl::Status GraphReader::DefineOutputs() {
  absl::flat_hash_set<std::string> names;
  for (const auto& output : proto_.output()) {
    const std::optional<Value*> value = scope_.Find(output.name());
    if (!value.has_value() || *value == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("nothing defines the graph output '",
                                                     output.name(),
                                                     "' (no node, input or initializer)"));
    }
    // A subgraph's outputs go by position, but a caller knows the main graph's by name.
    if (!names.insert(output.name()).second && scope_.enclosing == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("the graph output '", output.name(), "' is listed twice"));
    }
    graph_->AddOutput(*value);
  }
  return absl::OkStatus();
}

absl::Status GraphReader::DeclareNodes(const NodeProtos& nodes, Scope& scope) {
  for (const NodeProto& proto : nodes) {
    const onnx::FunctionProto* function = context_.functions.Find(proto);
    ATTNRUN_RETURN_IF_ERROR(function == nullptr
                                ? DeclareNode(proto, scope)
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
        return absl::InvalidArgumentError(absl::StrCat("the name '", name, "' is defined twice in ",
                                                       attnrun::Describe(*scope.frame->function),
                                                       ", by ", description));
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
  const std::string description = absl::StrCat("node '", spec.name, "' (", spec.op_type, ")");
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
                                     absl::StrCat("attribute '", attribute.name(), "'")));
  }
  return absl::OkStatus();
}

absl::Status GraphReader::ConnectInputs(const Pending& pending) {
  for (int i = 0; i < CountNames(pending.proto->input()); ++i) {
    const std::string& name = pending.proto->input(i);
    if (name.empty()) continue;
    const std::optional<Value*> value = pending.scope->Find(name);
    if (!value.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat("nothing defines its input ", i, " '", name,
                                                     "' (no node, graph input or initializer)"));
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
      return absl::InvalidArgumentError(absl::StrCat("it refers to '", proto.ref_attr_name(),
                                                     "' of a function, but stands in none"));
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

}  // namespace attnrun
