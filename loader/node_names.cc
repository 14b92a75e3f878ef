// SPDX-License-Identifier: Apache-2.0
#include "loader/node_names.h"

#include "absl/strings/str_cat.h"

namespace attnrun::loader {

void NodeNames::Reserve(const onnx::GraphProto& graph) {
  for (const auto& node : graph.node()) {
    reserved_.insert(node.name());
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) Reserve(attribute.g());
    }
  }
}

std::string NodeNames::Unique(const std::string& name, const std::string& op_type) {
  if (!name.empty() && taken_.insert(name).second) return name;
  const std::string& base = name.empty() ? op_type : name;
  int64_t& next = next_[base];
  while (true) {
    std::string candidate = absl::StrCat(base, "_", next++);
    if (!reserved_.contains(candidate) && taken_.insert(candidate).second) return candidate;
  }
}

}  // namespace attnrun::loader
