// SPDX-License-Identifier: Apache-2.0
// Inference of Einsum's output.
#include <utility>

#include "absl/algorithm/container.h"
#include "ops/einsum/einsum.h"
#include "ops/interface/axis_rules.h"
#include "ops/interface/infer_rules.h"

namespace attnrun::ops {
namespace {

// Adds the axes of the label of the output's axis `at`, unless an operand has it twice.
void AddLabel(AxesContext& context, const EinsumShape& labels, size_t at) {
  const absl::Span<const SymInt> to(*context.output(0).dims);
  AxisTrack track = context.Track({}, {{0, at}});
  for (int i = 0; i < context.num_inputs(); ++i) {
    const Labels& operand = labels.operands[i];
    const auto found = absl::c_find(operand, labels.output[at]);
    if (found == operand.end()) continue;
    if (absl::c_count(operand, *found) > 1) return;
    const auto axis = static_cast<int>(found - operand.begin());
    const SymInt& extent = (*context.input(i).dims)[axis];
    if (extent != to[at] && !extent.is_constant(1)) return;
    (extent == to[at] ? track.inputs : track.ones)[i] = axis;
  }
  context.Add(std::move(track));
}

}  // namespace

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

void Einsum::Axes(AxesContext& context) const {
  if (!context.output(0).dims.has_value()) return;
  std::vector<Shape> shapes;
  for (int i = 0; i < context.num_inputs(); ++i) {
    const std::optional<size_t> rank = RankOf(context, i);
    if (!rank.has_value()) return;
    shapes.emplace_back(*rank, 1);
  }
  const absl::StatusOr<EinsumShape> labels = ResolveEinsum(equation_, shapes);
  if (!labels.ok()) return;
  for (size_t at = 0; at < labels->output.size(); ++at) AddLabel(context, *labels, at);
}

}  // namespace attnrun::ops
