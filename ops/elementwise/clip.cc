// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/clip.h"

#include <limits>

#include "ops/elementwise/infer.h"

namespace attnrun::ops {

Clip::Clip(AttributeReader& attributes) : bounds_are_attributes_(attributes.version() < 11) {
  if (!bounds_are_attributes_) return;
  attributes.ExpectInputs(1, 1);
  low_ = attributes.Float("min", std::numeric_limits<float>::lowest());
  high_ = attributes.Float("max", std::numeric_limits<float>::max());
}

void Clip::Infer(InferContext& context) const { InferSameShape(context, context.input(0).type); }

void RegisterClip(OpRegistry& registry) {
  registry.Register({.domain = "",
                     .name = "Clip",
                     .since = {6, 11, 12, 13},
                     .inputs = {1, 3},
                     .outputs = {1, 1},
                     .make = Make<Clip>,
                     .traits = kElementwise});
}

}  // namespace attnrun::ops
