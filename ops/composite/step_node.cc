// SPDX-License-Identifier: Apache-2.0
#include "ops/composite/step_node.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/status.h"

namespace attnrun::ops {

absl::StatusOr<const Node*> AddStep(Graph& graph, const std::string& op_type, int outputs,
                                    absl::Span<const std::optional<Type>> inputs,
                                    AttributeMap attributes) {
  // The opset of the standard's operators; those of ONNX Runtime have one version.
  constexpr int kOpset = 24;
  const std::vector<std::string> name = absl::StrSplit(op_type, "::");
  NodeSpec spec = {.name = "",
                   .op_type = name.back(),
                   .domain = name.size() == 1 ? "" : name[0],
                   .opset = name.size() == 1 ? kOpset : 1,
                   .inputs = {},
                   .attributes = std::move(attributes)};
  for (const std::optional<Type>& type : inputs) {
    Value* value = nullptr;
    if (type.has_value()) {
      const std::string x = absl::StrCat("x", spec.inputs.size());
      ATTNRUN_ASSIGN_OR_RETURN(value, graph.AddInput(x, *type));
    }
    spec.inputs.push_back(value);
  }
  std::vector<std::string> names;
  names.reserve(outputs);
  for (int i = 0; i < outputs; ++i) names.push_back(absl::StrCat("y", i));
  return graph.AddNode(std::move(spec), names);
}

AttributeMap PassedOn(AttributeReader& attributes, std::initializer_list<absl::string_view> names) {
  AttributeMap passed;
  for (const absl::string_view name : names) {
    attributes.Ignore(name);
    const AttributeValue* value = attributes.node().attribute(name);
    if (value != nullptr) passed[name] = *value;
  }
  return passed;
}

}  // namespace attnrun::ops
