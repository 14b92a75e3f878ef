// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ACTIVATION_ENDING_H_
#define ATTNRUN_OPTIMIZER_RULES_ACTIVATION_ENDING_H_

#include <optional>

#include "graph/graph.h"
#include "optimizer/analysis/facts.h"

namespace attnrun::opt {

// An activation that attnrun.Linear, attnrun.Conv and attnrun.GatedActivation may end with.
struct Ending {
  // Its input.
  Value* x = nullptr;
  // The attribute `activation`, and those of its parameters.
  AttributeMap attributes;
};

// The node as such an activation: one of ops::kActivations, or a Max, Min or PRelu with a constant
// of one element. nullopt for other nodes and null.
std::optional<Ending> EndingOf(const Node* node, Facts& facts);

// The attributes among those of a product that make its ending; none if it has no activation.
AttributeMap EndingAttributes(const Node& product);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ACTIVATION_ENDING_H_
