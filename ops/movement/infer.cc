// SPDX-License-Identifier: Apache-2.0
// Inference of the other operators of this folder.
#include <algorithm>
#include <utility>

#include "ops/interface/infer_rules.h"
#include "ops/movement/depth_space.h"
#include "ops/movement/expand.h"
#include "ops/movement/pad.h"
#include "ops/movement/reverse_sequence.h"
#include "ops/movement/transpose.h"
#include "ops/movement/trilu.h"
#include "ops/tensors/int_input.h"

namespace attnrun::ops {
namespace {

// The contents of input 0, repeated until they fill an output of these extents.
std::optional<std::vector<SymInt>> RepeatedContents(const InferContext& context, const Dims& dims) {
  const std::optional<std::vector<SymInt>>& data = context.input(0).contents;
  const std::optional<int64_t> count = Product(dims).constant();
  if (!data.has_value() || dims.size() > 1 || !count.has_value() || *count < 0 ||
      *count > static_cast<int64_t>(kMaxContents) || (data->empty() && *count > 0)) {
    return std::nullopt;
  }
  std::vector<SymInt> contents;
  for (int64_t i = 0; i < *count; ++i) contents.push_back((*data)[i % data->size()]);
  return contents;
}

void SetRepeated(InferContext& context, Dims dims) {
  std::optional<std::vector<SymInt>> contents = RepeatedContents(context, dims);
  context.SetOutput(0, {context.input(0).type, std::move(dims), std::move(contents)});
}

// Extents with the pads of `axes` added; nullopt if no run can succeed.
std::optional<Dims> PaddedDims(Dims dims, const std::vector<SymInt>& pads,
                               const std::vector<int64_t>& axes) {
  if (pads.size() != 2 * axes.size()) return std::nullopt;
  for (size_t i = 0; i < axes.size(); ++i) {
    const std::optional<size_t> axis = KnownAxis(axes[i], dims.size());
    if (!axis.has_value()) return std::nullopt;
    dims[*axis] = dims[*axis] + pads[i] + pads[axes.size() + i];
  }
  return dims;
}

}  // namespace

void Transpose::Infer(InferContext& context) const {
  const ValueFacts& data = context.input(0);
  ValueFacts facts{data.type, std::nullopt, std::nullopt};
  const size_t rank = data.dims.has_value() ? data.dims->size() : 0;
  if (data.dims.has_value()) {
    Shape perm = perm_.value_or(FirstAxes(static_cast<int64_t>(rank)));
    if (!perm_.has_value()) std::reverse(perm.begin(), perm.end());
    if (perm.size() != rank || !NormalizeAxes(perm, static_cast<int>(rank)).ok()) return;
    facts.dims.emplace();
    for (const int64_t axis : perm) facts.dims->push_back((*data.dims)[axis]);
    if (rank <= 1) facts.contents = data.contents;
  } else if (perm_.has_value()) {
    facts.dims = UnknownDims(perm_->size());
  }
  context.SetOutput(0, std::move(facts));
}

void Expand::Infer(InferContext& context) const {
  const ValueFacts& data = context.input(0);
  std::optional<Dims> wanted = context.input(1).contents;
  const std::optional<size_t> length = KnownLength(context, 1);
  if (!wanted.has_value() && length.has_value()) wanted = UnknownDims(*length);
  std::optional<Dims> dims = BroadcastDims(data.dims, wanted);
  if (!dims.has_value()) return SetDims(context, 0, std::nullopt);
  SetRepeated(context, *std::move(dims));
}

void Tile::Infer(InferContext& context) const {
  const ValueFacts& data = context.input(0);
  const std::optional<size_t> length = KnownLength(context, 1);
  if (!data.dims.has_value() || (length.has_value() && *length != data.dims->size())) {
    return SetDims(context, 0, std::nullopt);
  }
  const Dims repeats = context.input(1).contents.value_or(UnknownDims(data.dims->size()));
  Dims dims = *data.dims;
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = dims[i] * repeats[i];
  SetRepeated(context, std::move(dims));
}

void Pad::Infer(InferContext& context) const {
  const std::optional<Dims>& data = context.input(0).dims;
  SetDims(context, 0, std::nullopt);
  if (!data.has_value()) return;
  SetDims(context, 0, UnknownDims(data->size()));
  std::optional<std::vector<SymInt>> pads(std::in_place, pads_.begin(), pads_.end());
  if (from_inputs_) pads = context.input(1).contents;
  const Shape all = FirstAxes(static_cast<int64_t>(data->size()));
  std::optional<std::vector<int64_t>> axes(std::in_place, all.begin(), all.end());
  if (context.has_input(3)) axes = KnownInts(context, 3);
  if (pads.has_value() && axes.has_value()) SetDims(context, 0, PaddedDims(*data, *pads, *axes));
}

void Trilu::Infer(InferContext& context) const { InferLikeInput(context); }

void ReverseSequence::Infer(InferContext& context) const { InferLikeInput(context); }

void DepthToSpace::Infer(InferContext& context) const {
  const Dims x = context.input(0).dims.value_or(UnknownDims(4));
  if (x.size() != 4 || block_ < 1) return;
  const SymInt area = SymInt(block_) * block_;
  SetDims(context, 0, Dims{x[0], SymInt::Quotient(x[1], area), x[2] * block_, x[3] * block_});
}

void SpaceToDepth::Infer(InferContext& context) const {
  const Dims x = context.input(0).dims.value_or(UnknownDims(4));
  if (x.size() != 4 || block_ < 1) return;
  const SymInt area = SymInt(block_) * block_;
  SetDims(context, 0,
          Dims{x[0], x[1] * area, SymInt::Quotient(x[2], block_), SymInt::Quotient(x[3], block_)});
}

}  // namespace attnrun::ops
