// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/activate.h"

#include <string>
#include <vector>

namespace attnrun::ops {

Activation ReadActivation(AttributeReader& attributes) {
  std::vector<absl::string_view> names;
  for (const NamedActivation& named : kActivations) names.push_back(named.name);
  const std::string name = attributes.OneOf("activation", "", names);
  for (const NamedActivation& named : kActivations) {
    if (named.name != name) continue;
    Activation activation = named.activation;
    const int parameters = NumParameters(activation);
    if (parameters > 0) activation.alpha = attributes.Float(kActivationAlpha, activation.alpha);
    if (parameters > 1) activation.beta = attributes.Float(kActivationBeta, activation.beta);
    return activation;
  }
  // The reader has recorded an error.
  return {};
}

}  // namespace attnrun::ops
