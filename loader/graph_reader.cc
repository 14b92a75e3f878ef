// SPDX-License-Identifier: Apache-2.0
#include "loader/graph_reader.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/quote.h"
#include "core/status.h"
#include "loader/skeleton.h"
#include "loader/type_reader.h"

namespace attnrun::loader {
namespace {

using onnx::GraphProto;

// The origin of a value, for messages.
std::string DefinitionOf(const Value& value) {
  if (value.producer() != nullptr) return value.producer()->description();
  if (value.is_input()) return "a graph input";
  return value.constant() != nullptr ? "an initializer" : "the enclosing graph";
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
  context_.nodes += proto_.node_size();
  if (context_.nodes > context_.options->limits.nodes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the model has more than ", context_.options->limits.nodes, " nodes, which is the limit"));
  }
  graph_->set_name(proto_.name());
  ReserveNames();
  ATTNRUN_RETURN_IF_ERROR(DefineInputs());
  ATTNRUN_RETURN_IF_ERROR(DefineInitializers());
  ATTNRUN_RETURN_IF_ERROR(DeclareNodes(proto_.node(), scope_));
  ATTNRUN_RETURN_IF_ERROR(DeclareTypes(proto_.output()));
  ATTNRUN_RETURN_IF_ERROR(DeclareTypes(proto_.value_info(), /*of_data=*/false));
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
  return absl::InvalidArgumentError(absl::StrCat("the name ", Quoted(name),
                                                 " is defined twice: by ", DefinitionOf(*value),
                                                 " and by ", definition));
}

void GraphReader::ReserveNames() {
  if (context_.functions.empty()) return;
  for (const auto& input : proto_.input()) reserved_names_.insert(input.name());
  for (const auto& initializer : proto_.initializer()) reserved_names_.insert(initializer.name());
  for (const auto& initializer : proto_.sparse_initializer()) {
    reserved_names_.insert(initializer.values().name());
  }
  for (const onnx::NodeProto& node : proto_.node()) {
    reserved_names_.insert(node.output().begin(), node.output().end());
  }
}

absl::Status GraphReader::DefineInputs() {
  // Before IR version 4 every initializer was also listed as an input; such inputs are constants.
  HashSet<std::string> constants;
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
      return Annotate(type.status(), absl::StrCat("graph input ", Quoted(input.name())));
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
                 absl::StrCat("initializer ", Quoted(initializer.name()))));
  }
  for (const auto& initializer : proto_.sparse_initializer()) {
    const std::string& name = initializer.values().name();
    ATTNRUN_RETURN_IF_ERROR(
        Annotate(DefineInitializer(name, ReadSparseTensor(initializer, context_.source)),
                 absl::StrCat("sparse initializer ", Quoted(name))));
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
    const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& declarations, bool of_data) {
  for (const auto& declaration : declarations) {
    Value* value = graph_->FindValue(declaration.name());
    // Exporters leave entries for values that they removed, and converters those of initializers
    // whose data they changed.
    if (value == nullptr || (!of_data && value->constant() != nullptr)) continue;
    absl::StatusOr<Type> type = ReadType(declaration.type());
    if (!type.ok()) {
      return Annotate(type.status(), absl::StrCat("the type of ", Quoted(declaration.name())));
    }
    ATTNRUN_RETURN_IF_ERROR(Declare(value, *type));
  }
  return absl::OkStatus();
}

absl::Status GraphReader::DefineOutputs() {
  HashSet<std::string> names;
  for (const auto& output : proto_.output()) {
    const std::optional<Value*> value = scope_.Find(output.name());
    if (!value.has_value() || *value == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("nothing defines the graph output ",
                                                     Quoted(output.name()),
                                                     " (no node, input or initializer)"));
    }
    // Callers identify outputs of the main graph by name, but outputs of a subgraph by position.
    // The TorchScript exporter lists an output twice where a module returns a tensor twice.
    if (!names.insert(output.name()).second && scope_.enclosing == nullptr) continue;
    graph_->AddOutput(*value);
  }
  return absl::OkStatus();
}

}  // namespace attnrun::loader
