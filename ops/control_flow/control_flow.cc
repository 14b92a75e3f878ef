// SPDX-License-Identifier: Apache-2.0
#include "ops/control_flow/control_flow.h"

#include "graph/graph.h"
#include "ops/interface/families.h"

namespace attnrun::ops {
namespace {

class SubgraphKernel final : public Kernel {
 public:
  explicit SubgraphKernel(const Op& op) : op_(op) {}
  absl::string_view name() const override { return "subgraph"; }
  bool Accepts(const OpContext& /*context*/) const override { return true; }
  absl::Status Run(OpContext& context) const override { return op_.Reference(context); }

 private:
  const Op& op_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> ControlFlow::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<SubgraphKernel>(*this);
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

void RegisterControlFlow(OpRegistry& registry) {
  registry.Register(
      {"", "If", {1, 11, 13, 16, 19, 21, 23, 24, 25}, {1, 1}, {1, kVariadic}, Make<If>});
  // M and cond may both be left out, and no carried value is required.
  registry.Register({"",
                     "Loop",
                     {1, 11, 13, 16, 19, 21, 23, 24, 25},
                     {0, kVariadic},
                     {1, kVariadic},
                     Make<Loop>});
  registry.Register(
      {"", "Scan", {9, 11, 16, 19, 21, 23, 24, 25}, {1, kVariadic}, {1, kVariadic}, Make<Scan>});
}

}  // namespace attnrun::ops
