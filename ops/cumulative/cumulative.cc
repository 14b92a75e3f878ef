// SPDX-License-Identifier: Apache-2.0
#include "ops/cumulative/cumulative.h"

#include "ops/interface/axis_rules.h"
#include "ops/interface/families.h"
#include "ops/interface/infer_rules.h"

namespace attnrun::ops {

void Cumulative::Infer(InferContext& context) const { InferLikeInput(context); }

void Cumulative::Axes(AxesContext& context) const {
  const std::optional<SymInt> axis = OnlyElement(context, 1);
  if (axis.has_value() && axis->constant().has_value()) AddOtherAxes(context, *axis->constant());
}

void RegisterCumulative(OpRegistry& registry) {
  registry.Register({.domain = "",
                     .name = "CumProd",
                     .since = {26},
                     .inputs = {2, 2},
                     .outputs = {1, 1},
                     .make =
                         [](AttributeReader& attributes) {
                           return std::make_unique<Cumulative>(attributes, /*product=*/true);
                         },
                     .reference_only = true});
  registry.Register({"", "CumSum", {11, 14}, {2, 2}, {1, 1}, [](AttributeReader& attributes) {
                       return std::make_unique<Cumulative>(attributes, /*product=*/false);
                     }});
}

}  // namespace attnrun::ops
