// SPDX-License-Identifier: Apache-2.0
#include "ops/control_flow/control_flow.h"

#include "graph/graph.h"
#include "ops/control_flow/kinds.h"
#include "ops/interface/families.h"
#include "ops/interface/reference_kernel.h"

namespace attnrun::ops {
absl::StatusOr<std::unique_ptr<Kernel>> ControlFlow::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<ReferenceKernel>(*this, "subgraph");
}

// The executor runs the graphs; reading them here marks the attributes as read and checks their
// kind.
If::If(AttributeReader& attributes) {
  attributes.Required<std::shared_ptr<Graph>>("then_branch");
  attributes.Required<std::shared_ptr<Graph>>("else_branch");
}

Loop::Loop(AttributeReader& attributes) { attributes.Required<std::shared_ptr<Graph>>("body"); }

Scan::Scan(AttributeReader& attributes)
    : num_scan_inputs_(attributes.Required<int64_t>("num_scan_inputs")),
      input_axes_(attributes.Ints("scan_input_axes")),
      output_axes_(attributes.Ints("scan_output_axes")),
      input_directions_(attributes.Ints("scan_input_directions")),
      output_directions_(attributes.Ints("scan_output_directions")) {
  attributes.Required<std::shared_ptr<Graph>>("body");
}

SequenceMap::SequenceMap(AttributeReader& attributes) {
  const auto body = attributes.Required<std::shared_ptr<Graph>>("body");
  if (body == nullptr) return;
  for (const Value* output : body->outputs()) declared_.push_back(output->type().element);
}

void RegisterControlFlow(OpRegistry& registry) {
  registry.Register({"",
                     "If",
                     {1, 11, 13, 16, 19, 21, 23, 24, 25},
                     {1, 1},
                     {1, kVariadic},
                     Make<If>,
                     Kinds(KindsOfIf)});
  // M and cond may both be left out, and no carried value is required.
  registry.Register({"",
                     "Loop",
                     {1, 11, 13, 16, 19, 21, 23, 24, 25},
                     {0, kVariadic},
                     {1, kVariadic},
                     Make<Loop>,
                     Kinds(KindsOfLoop)});
  registry.Register(
      {"", "Scan", {9, 11, 16, 19, 21, 23, 24, 25}, {1, kVariadic}, {1, kVariadic}, Make<Scan>});
  registry.Register({"",
                     "SequenceMap",
                     {17},
                     {1, kVariadic},
                     {1, kVariadic},
                     Make<SequenceMap>,
                     Kinds(KindsOfSequenceMap)});
}

}  // namespace attnrun::ops
