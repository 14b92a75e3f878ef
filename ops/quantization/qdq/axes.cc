// SPDX-License-Identifier: Apache-2.0
// Axis rules of quantization and dequantization.
#include <utility>

#include "ops/interface/axis_rules.h"
#include "ops/interface/infer_rules.h"
#include "ops/quantization/qdq/granularity.h"
#include "ops/quantization/qdq/quantize.h"

namespace attnrun::ops {
namespace {

// Adds axis `axis` of scale and zero point, which have one shape, to a track. False if the zero
// point may have another rank, as a single number may.
bool AddScaleAxis(const AxesContext& context, size_t axis, AxisTrack& track) {
  track.inputs[1] = static_cast<int>(axis);
  if (!context.has_input(2)) return true;
  track.inputs[2] = static_cast<int>(axis);
  return RankOf(context, 2) == RankOf(context, 1);
}

// Adds scale and zero point to the track of axis `axis` of x; false if it is unknown which of them
// apply. `along`: the axis of quantization.
bool AddScale(const AxesContext& context, size_t axis, size_t along, int64_t block_size,
              AxisTrack& track) {
  if (block_size > 0) return axis != along && AddScaleAxis(context, axis, track);
  if (axis != along) return true;
  // One number per position, or a single one for a single position.
  const SymInt& extent = (*context.input(0).dims)[axis];
  return context.input(1).dims->front() == extent && AddScaleAxis(context, 0, track);
}

}  // namespace

void AddGranularityAxes(AxesContext& context, int64_t axis, int64_t block_size) {
  const size_t rank = RankOf(context, 0).value_or(0);
  const std::optional<size_t> scale_rank = RankOf(context, 1);
  if (!scale_rank.has_value() || block_size < 0) return;
  const Dims& scale = *context.input(1).dims;
  const bool per_tensor = scale.empty() || (block_size == 0 && Product(scale).is_constant(1));
  if (per_tensor) return AddSameAxes(context, [](size_t) { return true; });
  const std::optional<size_t> along = KnownAxis(rank == 1 ? 0 : axis, rank);
  if (!along.has_value() || *scale_rank != (block_size > 0 ? rank : 1)) return;
  for (size_t i = 0; i < rank; ++i) {
    AxisTrack track = context.Track({{0, i}}, {{0, i}});
    if (AddScale(context, i, *along, block_size, track)) context.Add(std::move(track));
  }
}

void QuantizeLinear::Axes(AxesContext& context) const {
  AddGranularityAxes(context, axis_, block_size_);
}

void DequantizeLinear::Axes(AxesContext& context) const {
  AddGranularityAxes(context, axis_, block_size_);
}

}  // namespace attnrun::ops
