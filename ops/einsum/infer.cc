// SPDX-License-Identifier: Apache-2.0
// Inference of Einsum's output.
#include <utility>

#include "ops/einsum/einsum.h"
#include "ops/interface/infer_rules.h"

namespace attnrun::ops {

void Einsum::Infer(InferContext& context) const {
  SetDims(context, 0, std::nullopt);
  // The labels depend on the ranks alone.
  std::vector<Dims> operands;
  std::vector<Shape> shapes;
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (!context.has_input(i)) return;
    const std::optional<Dims>& known = context.input(i).dims;
    if (!known.has_value()) return;
    operands.push_back(*known);
    shapes.emplace_back(known->size(), 1);
  }
  const absl::StatusOr<EinsumShape> labels = ResolveEinsum(equation_, shapes);
  if (!labels.ok()) return;
  Dims dims;
  for (const Label label : labels->output) {
    std::optional<Dims> extent = Dims{1};
    for (size_t i = 0; i < operands.size(); ++i) {
      for (size_t axis = 0; axis < operands[i].size(); ++axis) {
        if (labels->operands[i][axis] != label) continue;
        extent = BroadcastDims(extent, Dims{operands[i][axis]});
      }
    }
    if (!extent.has_value()) return;
    dims.push_back(extent->front());
  }
  SetDims(context, 0, std::move(dims));
}

}  // namespace attnrun::ops
