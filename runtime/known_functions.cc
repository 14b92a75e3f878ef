// SPDX-License-Identifier: Apache-2.0
#include "known_functions.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/interface/registry.h"

namespace attnrun {
namespace {

// True if the operator can be made in a graph of nothing but this call.
bool IsOperator(const loader::FunctionCall& call) {
  const ops::OpRegistry& registry = ops::OpRegistry::Get();
  if (registry.Find(call.domain, call.name) == nullptr) return false;
  Graph graph;
  NodeSpec spec;
  spec.op_type = call.name;
  spec.domain = call.domain;
  spec.opset = call.opset;
  spec.attributes = call.attributes;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const auto input = graph.AddInput(absl::StrCat("input ", i), Type());
    if (!input.ok()) return false;
    spec.inputs.push_back(call.inputs[i] ? *input : nullptr);
  }
  std::vector<std::string> outputs;
  outputs.reserve(call.outputs);
  for (int i = 0; i < call.outputs; ++i) outputs.push_back(absl::StrCat("output ", i));
  const auto node = graph.AddNode(std::move(spec), outputs);
  return node.ok() && registry.Create(**node).ok();
}

}  // namespace

const loader::LoadOptions& KnownFunctions() {
  static const auto* const options = new loader::LoadOptions{.is_operator = IsOperator};
  return *options;
}

}  // namespace attnrun
