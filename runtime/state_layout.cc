// SPDX-License-Identifier: Apache-2.0
#include "state_layout.h"

#include <string>

#include "absl/algorithm/container.h"
#include "state/carried_values.h"

namespace attnrun {
namespace {

int PositionOf(const std::vector<ValueInfo>& infos, const std::string& name) {
  const auto found =
      absl::c_find_if(infos, [&](const ValueInfo& info) { return info.name == name; });
  return static_cast<int>(found - infos.begin());
}

}  // namespace

StateLayout MakeStateLayout(const Graph& graph, const std::vector<ValueInfo>& inputs,
                            const std::vector<ValueInfo>& outputs) {
  std::vector<std::string> names;
  names.reserve(outputs.size());
  for (const ValueInfo& output : outputs) names.push_back(output.name);
  StateLayout layout;
  layout.values = state::FindCarriedValues(graph, names);
  for (const StateValue& value : layout.values) {
    layout.inputs.push_back(PositionOf(inputs, value.input));
    layout.outputs.push_back(PositionOf(outputs, value.output));
    const ValueInfo& input = inputs[layout.inputs.back()];
    layout.types.push_back(input.type);
    const bool is_fixed =
        value.axis >= 0 && input.shape.has_value() && (*input.shape)[value.axis].is_fixed();
    layout.extents.push_back(is_fixed ? (*input.shape)[value.axis].value : 0);
  }
  for (int i = 0; i < static_cast<int>(outputs.size()); ++i) {
    if (!absl::c_linear_search(layout.outputs, i)) layout.given.push_back(i);
  }
  return layout;
}

}  // namespace attnrun
