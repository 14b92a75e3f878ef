// SPDX-License-Identifier: Apache-2.0
#include "anonymous_extents.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "graph/type.h"

namespace attnrun {

void ForgetExtentNames(const std::vector<std::string>& inputs, Graph& graph) {
  for (Value* input : graph.inputs()) {
    Type type = input->type();
    if (!absl::c_linear_search(inputs, input->name()) || !type.shape.has_value()) continue;
    for (Dim& dim : *type.shape) dim.symbol.clear();
    input->set_type(std::move(type));
  }
}

}  // namespace attnrun
