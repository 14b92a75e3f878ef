// SPDX-License-Identifier: Apache-2.0
// Axis rules of gathering and scattering operators.
#include <utility>

#include "ops/gather/along_axis.h"
#include "ops/gather/append_to_cache.h"
#include "ops/gather/compress.h"
#include "ops/gather/elements.h"
#include "ops/gather/gather.h"
#include "ops/gather/nd.h"
#include "ops/gather/tensor_scatter.h"
#include "ops/interface/axis_rules.h"
#include "ops/interface/infer_rules.h"

namespace attnrun::ops {
namespace {

// True if inputs 0 and 1 have the same extent along an axis of both.
bool AgreeAt(const AxesContext& context, size_t axis) {
  return (*context.input(0).dims)[axis] == (*context.input(1).dims)[axis];
}

// The length of the tuples along the last axis of the indices, for data of rank `rank` whose first
// `batch_dims` axes are not indexed.
std::optional<size_t> TupleLength(const AxesContext& context, size_t rank, size_t batch_dims) {
  const std::optional<Dims>& indices = context.input(1).dims;
  if (!indices.has_value() || indices->empty() || batch_dims >= indices->size()) {
    return std::nullopt;
  }
  const int64_t length = indices->back().constant().value_or(0);
  const bool fits = length >= 1 && length + batch_dims <= rank;
  return fits ? std::optional<size_t>(length) : std::nullopt;
}

}  // namespace

// Data [A, N, B] and indices [I] give [A, I, B].
void Gather::Axes(AxesContext& context) const {
  const size_t rank = RankOf(context, 0).value_or(0);
  const std::optional<size_t> indices = RankOf(context, 1);
  const std::optional<size_t> along = KnownAxis(axis_, rank);
  if (!along.has_value() || !indices.has_value()) return;
  for (size_t axis = 0; axis < *along; ++axis) context.Add({{0, axis}}, {{0, axis}});
  for (size_t axis = 0; axis < *indices; ++axis) context.Add({{1, axis}}, {{0, *along + axis}});
  for (size_t axis = *along + 1; axis < rank; ++axis) {
    context.Add({{0, axis}}, {{0, axis - 1 + *indices}});
  }
}

void GatherElements::Axes(AxesContext& context) const {
  const size_t rank = RankOf(context, 0).value_or(0);
  const std::optional<size_t> along = KnownAxis(axis_, rank);
  if (!along.has_value() || RankOf(context, 1) != rank) return;
  context.Add({{1, *along}}, {{0, *along}});
  for (size_t axis = 0; axis < rank; ++axis) {
    if (axis != *along && AgreeAt(context, axis)) context.Add({{0, axis}, {1, axis}}, {{0, axis}});
  }
}

void ScatterElements::Axes(AxesContext& context) const {
  const size_t rank = RankOf(context, 0).value_or(0);
  const std::optional<size_t> along = KnownAxis(axis_, rank);
  if (!along.has_value() || RankOf(context, 1) != rank) return;
  for (size_t axis = 0; axis < rank; ++axis) {
    if (axis == *along || !AgreeAt(context, axis)) continue;
    context.Add({{0, axis}, {1, axis}, {2, axis}}, {{0, axis}});
  }
}

// Data [B..., D1, ..., Dk, S...] and indices [B..., I..., k] give [B..., I..., S...].
void GatherND::Axes(AxesContext& context) const {
  const size_t rank = RankOf(context, 0).value_or(0);
  if (batch_dims_ < 0) return;
  const auto batch = static_cast<size_t>(batch_dims_);
  const std::optional<size_t> length = TupleLength(context, rank, batch);
  if (!length.has_value()) return;
  const size_t tuples = *RankOf(context, 1) - 1;
  for (size_t axis = 0; axis < batch; ++axis) context.Add({{0, axis}, {1, axis}}, {{0, axis}});
  for (size_t axis = batch; axis < tuples; ++axis) context.Add({{1, axis}}, {{0, axis}});
  for (size_t axis = batch + *length; axis < rank; ++axis) {
    context.Add({{0, axis}}, {{0, tuples + axis - batch - *length}});
  }
}

// Indices [I..., k] name the places in data [D1, ..., Dk, S...] of updates [I..., S...].
void ScatterND::Axes(AxesContext& context) const {
  const size_t rank = RankOf(context, 0).value_or(0);
  const std::optional<size_t> length = TupleLength(context, rank, 0);
  if (!length.has_value()) return;
  const size_t tuples = *RankOf(context, 1) - 1;
  for (size_t axis = *length; axis < rank; ++axis) {
    context.Add({{0, axis}, {2, tuples + axis - *length}}, {{0, axis}});
  }
}

void TensorScatter::Axes(AxesContext& context) const {
  const size_t rank = RankOf(context, 0).value_or(0);
  const std::optional<size_t> along = KnownAxis(axis_, rank);
  for (size_t axis = 0; along.has_value() && axis < rank; ++axis) {
    if (axis == 0) context.Add({{0, 0}, {1, 0}, {2, 0}}, {{0, 0}});
    if (axis != 0 && axis != *along) context.Add({{0, axis}, {1, axis}}, {{0, axis}});
  }
}

void Compress::Axes(AxesContext& context) const {
  if (axis_.has_value()) AddOtherAxes(context, *axis_);
}

void AppendToCache::Axes(AxesContext& context) const {
  context.Add({{0, 0}, {1, 0}, {2, 0}, {4, 0}}, {{0, 0}});
  for (const size_t axis : {1, 3}) context.Add({{0, axis}, {1, axis}}, {{0, axis}});
}

// Leading axes of the indices broadcast to those of the data.
void TakeAlongAxis::Axes(AxesContext& context) const {
  const size_t rank = RankOf(context, 0).value_or(0);
  const size_t indices = RankOf(context, 1).value_or(0);
  if (rank == 0 || indices == 0 || indices > rank) return;
  const absl::Span<const SymInt> data(*context.input(0).dims);
  const absl::Span<const SymInt> places(*context.input(1).dims);
  for (size_t axis = 0; axis + 1 < rank; ++axis) {
    AxisTrack track = context.Track({{0, axis}}, {{0, axis}});
    const bool plain = AddOperand(1, places.first(indices - 1), data.first(rank - 1), axis, track);
    if (plain) context.Add(std::move(track));
  }
  context.Add({{1, indices - 1}}, {{0, rank - 1}});
}

}  // namespace attnrun::ops
