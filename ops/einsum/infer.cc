// What Einsum tells of its output.
#include <utility>

#include "ops/einsum/einsum.h"
#include "ops/infer_rules.h"

namespace attnrun {

void Einsum::Infer(InferContext& context) const {
  SetDims(context, 0, std::nullopt);
  // The labels depend on the ranks alone.
  std::vector<Shape> shapes;
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (!context.has_input(i) || !context.input(i).dims.has_value()) return;
    shapes.emplace_back(context.input(i).dims->size(), 1);
  }
  const absl::StatusOr<EinsumShape> labels = ResolveEinsum(equation_, shapes);
  if (!labels.ok()) return;
  Dims dims;
  for (const Label label : labels->output) {
    std::optional<Dims> extent = Dims{1};
    for (size_t i = 0; i < shapes.size(); ++i) {
      const Dims& operand = *context.input(static_cast<int>(i)).dims;
      for (size_t axis = 0; axis < operand.size(); ++axis) {
        if (labels->operands[i][axis] == label) extent = BroadcastDims(extent, Dims{operand[axis]});
      }
    }
    if (!extent.has_value()) return;
    dims.push_back(extent->front());
  }
  SetDims(context, 0, std::move(dims));
}

}  // namespace attnrun
