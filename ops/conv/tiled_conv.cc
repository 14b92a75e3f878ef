// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/tiled_conv.h"

#include <algorithm>
#include <utility>

#include "core/status.h"
#include "ops/conv/conv_tiles.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

Shape KeyOf(const ConvPrimitiveShape& s) {
  Shape key = {s.groups, s.channels, s.features, int64_t{s.bias}, int64_t{s.accumulate}};
  for (const Shape* part : {&s.input, &s.kernel, &s.strides, &s.dilations, &s.output}) {
    key.insert(key.end(), part->begin(), part->end());
  }
  return key;
}

}  // namespace

TiledConv::Primitive TiledConv::Get(Layout& layout, const ConvPrimitiveShape& shape) {
  // A model needs a handful per node; each takes some tens of kilobytes.
  constexpr size_t kMost = 128;
  if (layout.primitives.size() >= kMost) layout.primitives.clear();
  Shape key = KeyOf(shape);
  const auto found = layout.primitives.find(key);
  if (found != layout.primitives.end()) return found->second;
  return layout.primitives[std::move(key)] = ConvPrimitive::Make(shape, layout.model.get());
}

std::optional<TilePrimitives> TiledConv::GetAll(Layout& layout, const ConvTiling& tiling,
                                                bool bias) {
  TilePrimitives all = {Get(layout, tiling.FirstCall(bias)), nullptr};
  if (all[0] == nullptr) return std::nullopt;
  if (tiling.calls_per_tile() == 1) return all;
  all[1] = Get(layout, tiling.OtherCalls());
  return all[1] == nullptr ? std::nullopt : std::optional(std::move(all));
}

absl::StatusOr<Tensor> TiledConv::Pack(const ConvTiling& tiling, const float* w,
                                       const ConvPrimitive& primitive, Allocator& allocator) {
  const int64_t calls = tiling.calls_per_tile();
  const int64_t count = tiling.groups * tiling.blocks * calls;
  const int64_t size = primitive.packed_floats();
  ATTNRUN_ASSIGN_OR_RETURN(Tensor packed,
                           Tensor::Allocate(DataType::kFloat, {count, size}, allocator));
  auto* const to = packed.mutable_data<float>();
  const ConvPrimitiveShape shape = tiling.FirstCall(false);
  int64_t plain = shape.features * shape.channels / shape.groups;
  for (const int64_t extent : shape.kernel) plain *= extent;
  ATTNRUN_RETURN_IF_ERROR(ParallelForWithScratch(
      count, 1, plain, allocator, [&](int64_t begin, int64_t end, float* gathered) {
        for (int64_t i = begin; i < end; ++i) {
          GatherWeights(tiling, w, i / calls, i % calls, gathered);
          primitive.Pack(gathered, to + i * size);
        }
      }));
  return packed;
}

absl::StatusOr<std::optional<TiledConv::Choice>> TiledConv::Choose(const ConvTiling& tiling,
                                                                   const float* w, bool bias,
                                                                   Allocator& allocator) const {
  // The layout that oneDNN prefers may depend on the extents; there are two or three at most.
  constexpr size_t kMostLayouts = 4;
  constexpr size_t kMostLacking = 1024;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto choice = [&](Layout& layout) -> absl::StatusOr<std::optional<Choice>> {
    std::optional<TilePrimitives> primitives = GetAll(layout, tiling, bias);
    if (!primitives.has_value()) return std::nullopt;
    Tensor weights = layout.weights;
    if (!weights.defined()) {
      Allocator& from = constant_weights_ ? Allocator::Heap() : allocator;
      ATTNRUN_ASSIGN_OR_RETURN(weights, Pack(tiling, w, *layout.model, from));
      if (constant_weights_) layout.weights = weights;
    }
    return Choice{*std::move(primitives), std::move(weights)};
  };
  for (Layout& layout : layouts_) {
    ATTNRUN_ASSIGN_OR_RETURN(std::optional<Choice> found, choice(layout));
    if (found.has_value()) return found;
  }
  const ConvPrimitiveShape shape = tiling.FirstCall(bias);
  if (lacking_.contains(KeyOf(shape))) return std::nullopt;
  Layout layout = {.model = ConvPrimitive::Make(shape, nullptr), .weights = {}, .primitives = {}};
  std::optional<Choice> found;
  if (layout.model != nullptr) {
    ATTNRUN_ASSIGN_OR_RETURN(found, choice(layout));
  }
  if (found.has_value()) {
    if (layouts_.size() < kMostLayouts) layouts_.push_back(std::move(layout));
  } else if (lacking_.size() < kMostLacking) {
    lacking_.insert(KeyOf(shape));
  }
  return found;
}

absl::Status TiledConv::Prepare(const ConvShape& shape, const float* w, bool bias) const {
  const std::optional<ConvTiling> tiling = TileConv(shape);
  if (!tiling.has_value()) return absl::OkStatus();
  return Choose(*tiling, w, bias, Allocator::Heap()).status();
}

absl::StatusOr<bool> TiledConv::Run(const ConvShape& shape, const Operands& operands,
                                    Allocator& allocator) const {
  const std::optional<ConvTiling> tiling = TileConv(shape);
  if (!tiling.has_value()) return false;
  ATTNRUN_ASSIGN_OR_RETURN(const std::optional<Choice> choice,
                           Choose(*tiling, operands.w, operands.bias != nullptr, allocator));
  if (!choice.has_value()) return false;
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor copy, Tensor::Allocate(DataType::kFloat, {shape.n, tiling->image_size()}, allocator));
  auto* const channels_last = copy.mutable_data<float>();
  CopyImages(*tiling, shape, operands.x, channels_last);
  Tensor bias;
  if (operands.bias != nullptr) {
    // A block may end beyond the last feature.
    ATTNRUN_ASSIGN_OR_RETURN(
        bias, Tensor::Allocate(DataType::kFloat, {shape.m + tiling->block_features}, allocator));
    auto* const padded = bias.mutable_data<float>();
    std::fill_n(std::copy_n(operands.bias, shape.m, padded), tiling->block_features, 0.0F);
  }
  ATTNRUN_RETURN_IF_ERROR(MultiplyTiles(*tiling, choice->primitives, shape.n,
                                        {channels_last, choice->weights.data<float>(),
                                         bias.defined() ? bias.data<float>() : nullptr, operands.y},
                                        allocator));
  return true;
}

}  // namespace attnrun::ops
