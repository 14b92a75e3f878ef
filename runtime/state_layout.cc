// SPDX-License-Identifier: Apache-2.0
#include "state_layout.h"

#include <string>
#include <utility>

#include "absl/algorithm/container.h"

namespace attnrun {
namespace {

int PositionOf(const std::vector<ValueInfo>& infos, const std::string& name) {
  const auto found =
      absl::c_find_if(infos, [&](const ValueInfo& info) { return info.name == name; });
  return static_cast<int>(found - infos.begin());
}

}  // namespace

StateLayout MakeStateLayout(std::vector<StateValue> values, const std::vector<ValueInfo>& inputs,
                            const std::vector<ValueInfo>& outputs) {
  StateLayout layout;
  for (const StateValue& value : values) {
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
  layout.values = std::move(values);
  return layout;
}

}  // namespace attnrun
