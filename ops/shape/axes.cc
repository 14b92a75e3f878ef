// SPDX-License-Identifier: Apache-2.0
// Axis rules of the operators of this folder that have any.
#include "ops/interface/axis_rules.h"
#include "ops/shape/reshape.h"
#include "ops/shape/squeeze.h"

namespace attnrun::ops {

void Reshape::Axes(AxesContext& context) const { AddWholeAxes(context); }

void Flatten::Axes(AxesContext& context) const { AddWholeAxes(context); }

void Squeeze::Axes(AxesContext& context) const {
  const std::optional<std::vector<bool>> dropped = Dropped(context);
  if (dropped.has_value()) AddRemainingAxes(context, *dropped);
}

void Unsqueeze::Axes(AxesContext& context) const {
  const std::optional<std::vector<bool>> added = Added(context);
  size_t next = 0;
  for (size_t axis = 0; added.has_value() && axis < added->size(); ++axis) {
    if (!(*added)[axis]) context.Add({{0, next++}}, {{0, axis}});
  }
}

}  // namespace attnrun::ops
