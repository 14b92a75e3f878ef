// SPDX-License-Identifier: Apache-2.0
// Axis rules of matrix products.
#include <utility>

#include "ops/interface/axis_rules.h"
#include "ops/interface/infer_rules.h"
#include "ops/matmul/matmul.h"

namespace attnrun::ops {
namespace {

// Adds the axes of numpy.matmul of inputs 0 and 1: the leading ones, which broadcast, rows and
// columns. `also` adds other inputs to a track; it is false if they do not fit.
void AddMatMulAxes(AxesContext& context, absl::FunctionRef<bool(AxisTrack&)> also) {
  const size_t ranks[] = {RankOf(context, 0).value_or(0), RankOf(context, 1).value_or(0)};
  if (ranks[0] == 0 || ranks[1] == 0 || !context.output(0).dims.has_value()) return;
  const absl::Span<const SymInt> y(*context.output(0).dims);
  const auto add = [&](AxisTrack track) {
    if (also(track)) context.Add(std::move(track));
  };
  // An operand with one axis is a row or a column; the output lacks its other axis.
  const size_t rows = ranks[0] > 1 ? 1 : 0;
  const size_t columns = ranks[1] > 1 ? 1 : 0;
  if (y.size() < rows + columns) return;
  const size_t batch = y.size() - rows - columns;
  for (size_t axis = 0; axis < batch; ++axis) {
    AxisTrack track = context.Track({}, {{0, axis}});
    bool plain = true;
    for (const int i : {0, 1}) {
      const absl::Span<const SymInt> stack(*context.input(i).dims);
      const absl::Span<const SymInt> leading = stack.first(ranks[i] > 2 ? ranks[i] - 2 : 0);
      plain = plain && AddOperand(i, leading, y.first(batch), axis, track);
    }
    if (plain) add(std::move(track));
  }
  if (rows == 1) add(context.Track({{0, ranks[0] - 2}}, {{0, batch}}));
  if (columns == 1) add(context.Track({{1, ranks[1] - 1}}, {{0, y.size() - 1}}));
}

// Adds input i, the zero point of `operand`, to a track that has the operand. It is one number, or
// broadcasts to the operand; if of rank 1, along rows (`per_row`) or else columns.
bool AddZeroPoint(const AxesContext& context, int i, int operand, bool per_row, AxisTrack& track) {
  if (!context.has_input(i)) return true;
  const std::optional<Dims>& zero_point = context.input(i).dims;
  if (!zero_point.has_value()) return false;
  if (Product(*zero_point).is_constant(1)) return true;
  const Dims& stack = *context.input(operand).dims;
  const bool broadcast = track.ones[operand] != AxisTrack::kNone;
  const int axis = broadcast ? track.ones[operand] : track.inputs[operand];
  if (axis == AxisTrack::kNone) return true;
  const bool is_rows = axis + 2 == static_cast<int>(stack.size());
  if (zero_point->size() == 1 && per_row) {
    return !is_rows || AddOperand(i, *zero_point, {stack[axis]}, 0, track);
  }
  if (!AddOperand(i, *zero_point, stack, axis, track)) return false;
  // The zero point has extent 1 there, like the operand.
  if (broadcast) std::swap(track.inputs[i], track.ones[i]);
  return true;
}

}  // namespace

void MatMul::Axes(AxesContext& context) const {
  AddMatMulAxes(context, [](AxisTrack&) { return true; });
}

void MatMulInteger::Axes(AxesContext& context) const {
  AddMatMulAxes(context, [&](AxisTrack& track) {
    return AddZeroPoint(context, 2, 0, /*per_row=*/true, track) &&
           AddZeroPoint(context, 3, 1, /*per_row=*/false, track);
  });
}

void GemmOp::Axes(AxesContext& context) const {
  if (!context.output(0).dims.has_value() || context.output(0).dims->size() != 2) return;
  const Dims& y = *context.output(0).dims;
  const size_t row = attributes_.transpose_a ? 1 : 0;
  const size_t column = attributes_.transpose_b ? 0 : 1;
  AxisTrack rows = context.Track({{0, row}}, {{0, 0}});
  AxisTrack columns = context.Track({{1, column}}, {{0, 1}});
  if (AddOperand(context, 2, y, 0, rows)) context.Add(std::move(rows));
  if (AddOperand(context, 2, y, 1, columns)) context.Add(std::move(columns));
}

}  // namespace attnrun::ops
