// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/linear_inputs.h"

#include <algorithm>
#include <iterator>

#include "absl/algorithm/container.h"
#include "core/div_ceil.h"

namespace attnrun::ops {

std::optional<LinearFormat> LinearFormatNamed(absl::string_view name) {
  const auto* const found = absl::c_find(kLinearFormatNames, name);
  if (found == std::end(kLinearFormatNames)) return std::nullopt;
  return static_cast<LinearFormat>(found - std::begin(kLinearFormatNames));
}

int LinearInputs::NumWeights(size_t inputs) const {
  const int of_others = static_cast<int>(inputs) - FirstOfWeights() - (InputsPerWeight() - 1);
  return 1 + static_cast<int>(DivCeil(std::max(of_others, 0), InputsPerWeight()));
}

LinearWeight<int> LinearInputs::PositionsOf(int index) const {
  // The weights follow each other, but for W0's values.
  const int values = FirstOfWeights() - 1 + index * InputsPerWeight();
  LinearWeight<int> at = {index == 0 ? kWeight : values, -1, -1};
  if (has_scales()) at.scales = values + 1;
  if (has_scales()) at.zero_points = values + 2;
  return at;
}

}  // namespace attnrun::ops
