// SPDX-License-Identifier: Apache-2.0
// The part of GraphReader that replaces calls of model-local functions.
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/quote.h"
#include "core/status.h"
#include "loader/attributes.h"
#include "loader/graph_reader.h"
#include "loader/skeleton.h"

namespace attnrun::loader {
std::string GraphReader::InventName(const std::string& hint) const {
  std::string name = graph_->UniqueName(hint);
  for (int64_t i = 1; reserved_names_.contains(name); ++i) {
    name = graph_->UniqueName(absl::StrCat(hint, ":", i));
  }
  return name;
}

absl::StatusOr<std::optional<AttributeValue>> GraphReader::ReadValue(
    const onnx::AttributeProto& proto, const Scope& scope) const {
  const onnx::AttributeProto* source = &proto;
  if (!proto.ref_attr_name().empty()) {
    const auto binding = scope.frame->attributes.find(proto.ref_attr_name());
    if (binding == scope.frame->attributes.end()) return std::nullopt;
    source = binding->second.proto;
  }
  ATTNRUN_ASSIGN_OR_RETURN(AttributeValue value, ReadAttribute(*source, context_.source));
  return value;
}

const onnx::NodeProto* GraphReader::AsOperator(const onnx::FunctionProto& function,
                                               const onnx::NodeProto& call, const Scope& caller) {
  if (!context_.options->is_operator) return nullptr;
  onnx::NodeProto node = call;
  HashSet<std::string> given;
  for (const auto& attribute : call.attribute()) given.insert(attribute.name());
  for (const auto& attribute : function.attribute_proto()) {
    if (given.contains(attribute.name())) continue;
    *node.add_attribute() = attribute;
    // A default refers to nothing, but some exporters write the name of the attribute itself.
    node.mutable_attribute()->rbegin()->clear_ref_attr_name();
  }
  FunctionCall described;
  described.domain = NormalizeDomain(call.domain());
  described.name = call.op_type();
  const absl::StatusOr<int> opset = FindOpset(*caller.frame, described.domain);
  if (!opset.ok()) return nullptr;
  described.opset = *opset;
  for (const std::string& input : call.input()) described.inputs.push_back(!input.empty());
  described.outputs = call.output_size();
  for (const auto& attribute : node.attribute()) {
    absl::StatusOr<std::optional<AttributeValue>> value = ReadValue(attribute, caller);
    if (!value.ok()) return nullptr;
    if (value->has_value()) described.attributes[attribute.name()] = **std::move(value);
  }
  if (!context_.options->is_operator(described)) return nullptr;
  return &copies_.emplace_back(std::move(node));
}

absl::StatusOr<Scope*> GraphReader::EnterBody(const onnx::FunctionProto& function,
                                              const onnx::NodeProto& call, Scope& caller) {
  const std::string prefix =
      absl::StrCat(context_.node_names.Unique(
                       call.name().empty() ? "" : absl::StrCat(caller.frame->prefix, call.name()),
                       absl::StrCat(caller.frame->prefix, call.op_type())),
                   "/");
  ATTNRUN_ASSIGN_OR_RETURN(Frame frame, EnterFunction(function, call, caller, prefix));
  if (caller.nesting >= kMaxNesting) {
    return absl::InvalidArgumentError(
        absl::StrCat("subgraphs and function calls are nested more than ", kMaxNesting, " deep"));
  }
  frames_.push_back(std::move(frame));
  Scope& body = bodies_.emplace_back();
  body.graph = graph_.get();
  body.frame = &frames_.back();
  body.caller = &caller;
  body.nesting = caller.nesting + 1;
  ATTNRUN_ASSIGN_OR_RETURN(body.formal_inputs, BindInputs(function, call));
  return &body;
}

absl::Status GraphReader::Inline(const onnx::FunctionProto& function, const onnx::NodeProto& call,
                                 Scope& caller) {
  // Functions that call each other can describe 2^n nodes in n lines.
  const int64_t most = context_.options->limits.function_nodes;
  context_.inlined_nodes += function.node_size() + 1;
  if (context_.inlined_nodes > most) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the model's functions expand to more than ", most, " nodes"));
  }
  ATTNRUN_ASSIGN_OR_RETURN(Scope* const body, EnterBody(function, call, caller));
  ATTNRUN_ASSIGN_OR_RETURN(
      const std::vector<std::string> names,
      OutputNames(call, caller, absl::StrCat("a call of ", loader::Describe(function))));
  for (size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty()) body->output_names.try_emplace(function.output(i), names[i]);
  }
  ATTNRUN_RETURN_IF_ERROR(
      Annotate(DeclareNodes(function.node(), *body), loader::Describe(function)));
  return BindOutputs(function, call, names, *body);
}

absl::Status GraphReader::BindOutputs(const onnx::FunctionProto& function,
                                      const onnx::NodeProto& call,
                                      const std::vector<std::string>& names, Scope& body) {
  Scope& caller = *body.caller;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) continue;
    std::string formal = function.output(i);
    const bool computed = body.values.contains(formal);
    if (!computed && !body.formal_inputs.contains(formal)) {
      return absl::InvalidArgumentError(
          absl::StrCat(loader::Describe(function), " never computes its output ", Quoted(formal)));
    }
    // An output that is also an input, or a second output of the same value, needs its own value.
    if (!computed || body.values[formal]->name() != names[i]) {
      onnx::NodeProto& copy = copies_.emplace_back();
      copy.set_op_type("Identity");
      copy.add_input(formal);
      formal = absl::StrCat("output ", i);
      copy.add_output(formal);
      body.output_names[formal] = names[i];
      ATTNRUN_RETURN_IF_ERROR(DeclareNode(copy, body));
    }
    caller.values[call.output(i)] = body.values[formal];
  }
  return absl::OkStatus();
}

}  // namespace attnrun::loader
