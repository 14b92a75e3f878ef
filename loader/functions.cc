// SPDX-License-Identifier: Apache-2.0
#include "loader/functions.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "core/quote.h"
#include "core/status.h"

namespace attnrun::loader {
namespace {

using onnx::AttributeProto;
using onnx::FunctionProto;
using onnx::NodeProto;

absl::Status CheckCount(const FunctionProto& function, absl::string_view what, int declared,
                        int passed) {
  if (passed <= declared) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(Describe(function), " has ", declared, " ", what,
                                                 "s, but the call passes ", passed));
}

absl::Status CheckRecursion(const FunctionProto& function, const Frame* frame) {
  std::string chain = Describe(function);
  for (; frame != nullptr && frame->function != nullptr; frame = frame->caller) {
    chain = absl::StrCat(Describe(*frame->function), " -> ", chain);
    if (frame->function == &function) {
      return absl::InvalidArgumentError(absl::StrCat("a function calls itself: ", chain));
    }
  }
  return absl::OkStatus();
}

bool Declares(const FunctionProto& function, const std::string& attribute) {
  const auto& required = function.attribute();
  const auto& defaulted = function.attribute_proto();
  return std::find(required.begin(), required.end(), attribute) != required.end() ||
         std::any_of(defaulted.begin(), defaulted.end(),
                     [&](const AttributeProto& proto) { return proto.name() == attribute; });
}

// Binds the attributes of the call, including those that it forwards from its own caller.
absl::Status BindAttributes(const FunctionProto& function, const NodeProto& call, Scope& caller,
                            Frame& frame) {
  for (const AttributeProto& proto : call.attribute()) {
    if (!Declares(function, proto.name())) {
      return absl::InvalidArgumentError(
          absl::StrCat(Describe(function), " has no attribute ", Quoted(proto.name())));
    }
    if (proto.ref_attr_name().empty()) {
      frame.attributes[proto.name()] = {&proto, &caller};
      continue;
    }
    const auto outer = caller.frame->attributes.find(proto.ref_attr_name());
    if (outer != caller.frame->attributes.end()) frame.attributes[proto.name()] = outer->second;
  }
  for (const AttributeProto& proto : function.attribute_proto()) {
    frame.attributes.try_emplace(proto.name(), Frame::Binding{&proto, nullptr});
  }
  return absl::OkStatus();
}

}  // namespace

std::string NormalizeDomain(const std::string& domain) {
  return domain == "ai.onnx" ? std::string() : domain;
}

absl::StatusOr<std::map<std::string, int>> ReadOpsets(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports) {
  std::map<std::string, int> opsets;
  for (const auto& import : imports) {
    if (import.version() < 1 || import.version() > std::numeric_limits<int>::max()) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected a version of 1 or more for the opset of domain ",
                       Quoted(import.domain()), ", but found ", import.version()));
    }
    int& version = opsets[NormalizeDomain(import.domain())];
    version = std::max(version, static_cast<int>(import.version()));
  }
  return opsets;
}

absl::StatusOr<int> FindOpset(const Frame& frame, const std::string& domain) {
  for (const Frame* f = &frame; f != nullptr; f = f->caller) {
    // Skips the bodies between this one and the model, since their imports do not apply here.
    if (f != &frame && f->function != nullptr) continue;
    if (const auto it = f->opsets.find(domain); it != f->opsets.end()) return it->second;
  }
  if (domain == "com.microsoft") return 1;
  return absl::InvalidArgumentError(absl::StrCat("the model imports no opset for its domain ",
                                                 Quoted(domain.empty() ? "ai.onnx" : domain)));
}

std::string Describe(const FunctionProto& function) {
  const std::string& domain = function.domain();
  return absl::StrCat(
      "function ",
      Quoted(absl::StrCat(domain, domain.empty() ? "" : ".", function.name(),
                          function.overload().empty() ? "" : ":", function.overload())));
}

absl::Status FunctionTable::Add(
    const google::protobuf::RepeatedPtrField<onnx::FunctionProto>& functions) {
  for (const FunctionProto& function : functions) {
    const Key key(NormalizeDomain(function.domain()), function.name(), function.overload());
    if (functions_.try_emplace(key, &function).second) continue;
    return absl::InvalidArgumentError(absl::StrCat(Describe(function), " is defined twice"));
  }
  return absl::OkStatus();
}

const FunctionProto* FunctionTable::Find(const NodeProto& node) const {
  if (functions_.empty()) return nullptr;
  const auto it =
      functions_.find(Key(NormalizeDomain(node.domain()), node.op_type(), node.overload()));
  return it == functions_.end() ? nullptr : it->second;
}

absl::StatusOr<Frame> EnterFunction(const FunctionProto& function, const NodeProto& call,
                                    Scope& caller, std::string prefix) {
  ATTNRUN_RETURN_IF_ERROR(CheckRecursion(function, caller.frame));
  ATTNRUN_RETURN_IF_ERROR(CheckCount(function, "input", function.input_size(), call.input_size()));
  ATTNRUN_RETURN_IF_ERROR(
      CheckCount(function, "output", function.output_size(), call.output_size()));
  Frame frame;
  frame.function = &function;
  frame.caller = caller.frame;
  frame.prefix = std::move(prefix);
  ATTNRUN_ASSIGN_OR_RETURN(frame.opsets, ReadOpsets(function.opset_import()));
  ATTNRUN_RETURN_IF_ERROR(BindAttributes(function, call, caller, frame));
  return frame;
}

absl::StatusOr<HashMap<std::string, std::string>> BindInputs(const FunctionProto& function,
                                                             const NodeProto& call) {
  HashMap<std::string, std::string> inputs;
  for (int i = 0; i < function.input_size(); ++i) {
    const std::string actual = i < call.input_size() ? call.input(i) : "";
    if (inputs.try_emplace(function.input(i), actual).second) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(Describe(function), " has two inputs named ", Quoted(function.input(i))));
  }
  return inputs;
}

}  // namespace attnrun::loader
