// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/conv_tiling.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/div_ceil.h"

namespace attnrun::ops {
namespace {

int64_t Product(const Shape& shape, size_t begin) {
  return std::accumulate(shape.begin() + begin, shape.end(), int64_t{1}, std::multiplies<>());
}

// Chooses how many rows a tile has: about kPositions positions, which keep the tile and its input
// in the second-level cache. All tiles have the same number, so that one primitive computes them
// all. Along a single axis, whose length tends to vary, the number is a multiple of kGranule, so
// that a few primitives serve all lengths.
void CutRows(ConvTiling& tiling) {
  constexpr int64_t kPositions = 256;
  constexpr int64_t kGranule = 8;
  tiling.row_positions = Product(tiling.output, 1);
  const int64_t rows = std::clamp<int64_t>(kPositions / tiling.row_positions, 1, tiling.output[0]);
  const int64_t even = DivCeil(tiling.output[0], DivCeil(tiling.output[0], rows));
  const int64_t granule = tiling.output.size() == 1 ? kGranule : 1;
  tiling.tile_rows = DivCeil(even, granule) * granule;
}

// Splits the kernel into parts and the channels into pieces, as few as possible with at most
// kLongest terms in a sum.
void CutSum(ConvTiling& tiling) {
  constexpr int64_t kLongest = 256;
  const int64_t taps = tiling.kernel[0];
  const int64_t channels = tiling.depthwise ? 1 : tiling.group_channels;
  const int64_t plane = Product(tiling.kernel, 1);
  int64_t fewest = 0;
  for (int64_t part = 1; part <= std::min(taps, kLongest); ++part) {
    if (taps % part != 0) continue;
    const int64_t pieces = DivCeil(channels * plane * part, kLongest);
    if (pieces > channels && part > 1) break;
    const int64_t calls = std::min(pieces, channels) * (taps / part);
    if (fewest > 0 && calls >= fewest) continue;
    fewest = calls;
    tiling.part_taps = part;
    tiling.piece_channels = DivCeil(channels, std::min(pieces, channels));
  }
  tiling.tap_parts = taps / tiling.part_taps;
  if (tiling.depthwise) tiling.piece_channels = tiling.group_channels;
  tiling.pieces = DivCeil(tiling.group_channels, tiling.piece_channels);
}

void CutChannels(const ConvShape& shape, ConvTiling& tiling) {
  // The most features of a tile, or channels of a depthwise convolution's tile.
  constexpr int64_t kFeatures = 64;
  tiling.rows = shape.c * tiling.source_taps;
  tiling.features = shape.m;
  if (tiling.depthwise) {
    tiling.group_channels = DivCeil(shape.c, DivCeil(shape.c, kFeatures));
    tiling.group_features = tiling.group_channels;
    tiling.groups = DivCeil(shape.c, tiling.group_channels);
  } else {
    tiling.groups = shape.group;
    tiling.group_channels = tiling.rows / shape.group;
    tiling.group_features = shape.m / shape.group;
  }
  tiling.blocks = DivCeil(tiling.group_features, kFeatures);
  tiling.block_features = DivCeil(tiling.group_features, tiling.blocks);
}

// Sets the extents of the copy; false if it would be absurdly larger than x.
bool SetExtents(const ConvShape& shape, ConvTiling& tiling) {
  double size = static_cast<double>(tiling.groups * tiling.pieces * tiling.piece_channels);
  for (size_t axis = 0; axis < tiling.output.size(); ++axis) {
    const int64_t count = axis == 0 ? tiling.tiles() * tiling.tile_rows : tiling.output[axis];
    const int64_t reach = (tiling.kernel[axis] - 1) * tiling.dilations[axis] + 1;
    tiling.extents.push_back((count - 1) * tiling.strides[axis] + reach);
    size *= static_cast<double>(tiling.extents.back());
  }
  if (!IsWorthCopying(shape, size)) return false;
  tiling.positions = Product(tiling.extents, 0);
  return true;
}

// Sets how x is copied, and the convolution that remains on the copy.
void LayOutSource(const ConvShape& shape, bool apart, ConvTiling& tiling) {
  if (apart) {
    LayOutWindows(shape, tiling);
    tiling.kernel = tiling.strides = tiling.dilations = {1};
    tiling.output = {shape.output_size};
  } else {
    LayOutElements(shape, tiling);
    tiling.kernel = shape.window.kernel;
    tiling.strides = shape.window.strides;
    tiling.dilations = shape.window.dilations;
    tiling.output = shape.window.output;
  }
}

}  // namespace

void LayOutWindows(const ConvShape& shape, ImageLayout& layout) {
  layout.source = shape.window;
  layout.source_taps = shape.kernel_size;
  layout.source_positions = shape.output_size;
  layout.positions = shape.output_size;
}

void LayOutElements(const ConvShape& shape, ImageLayout& layout) {
  const Shape ones(shape.window.kernel.size(), 1);
  layout.source = shape.window;
  layout.source.kernel = layout.source.strides = layout.source.dilations = ones;
  layout.source_taps = 1;
}

bool AreApart(const SlidingWindow& window) {
  if (window.kernel.back() == 1) return false;
  for (size_t axis = 0; axis < window.kernel.size(); ++axis) {
    if (window.kernel[axis] > 1 && window.dilations[axis] != 1) return false;
    if (window.strides[axis] < window.kernel[axis]) return false;
  }
  return true;
}

bool IsDepthwise(const ConvShape& shape) {
  return shape.group > 1 && shape.c == shape.group && shape.m == shape.group;
}

bool HasShortSum(const ConvShape& shape) {
  constexpr int64_t kShortSum = 16;
  return !IsDepthwise(shape) && shape.c / shape.group * shape.kernel_size < kShortSum;
}

bool IsWorthCopying(const ConvShape& shape, double size) {
  constexpr double kAllowance = 65536;
  return size <= 4.0 * static_cast<double>(shape.c * shape.input_size) + kAllowance;
}

int64_t ConvTiling::RowsOf(int64_t tile) const {
  return std::min(tile_rows, output[0] - tile * tile_rows);
}

ConvPrimitiveShape ConvTiling::FirstCall(bool bias) const {
  ConvPrimitiveShape shape = Call();
  shape.bias = bias;
  return shape;
}

ConvPrimitiveShape ConvTiling::OtherCalls() const {
  ConvPrimitiveShape shape = Call();
  shape.accumulate = true;
  return shape;
}

ConvPrimitiveShape ConvTiling::Call() const {
  ConvPrimitiveShape shape;
  shape.groups = depthwise ? piece_channels : 1;
  shape.channels = piece_channels;
  shape.features = block_features;
  shape.kernel = kernel;
  shape.kernel[0] = part_taps;
  shape.strides = strides;
  shape.dilations = dilations;
  shape.input = extents;
  shape.input[0] = (tile_rows - 1) * strides[0] + (part_taps - 1) * dilations[0] + 1;
  shape.output = output;
  shape.output[0] = tile_rows;
  shape.bias = shape.accumulate = false;
  if (kernel.size() == 1) {
    // oneDNN has more primitives for two axes than for one.
    for (Shape* s :
         {&shape.kernel, &shape.strides, &shape.dilations, &shape.input, &shape.output}) {
      s->insert(s->begin(), 1);
    }
  }
  return shape;
}

bool IsPointwise(const ConvShape& shape) {
  const auto all = [](const Shape& values, int64_t value) {
    return std::all_of(values.begin(), values.end(), [=](int64_t v) { return v == value; });
  };
  return shape.kernel_size == 1 && all(shape.window.strides, 1) &&
         all(shape.window.pads_begin, 0) && all(shape.window.pads_end, 0);
}

std::optional<ConvTiling> TileConv(const ConvShape& shape) {
  constexpr int64_t kLargestKernel = 1 << 14;
  // 1x1 kernels are faster as a GEMM on x itself: 80 GFLOP/s for 96 to 384 channels of 56 x 56,
  // against 64 GFLOP/s here.
  if (shape.c == 0 || shape.m == 0 || shape.output_size == 0 ||
      shape.kernel_size > kLargestKernel || HasShortSum(shape) || IsPointwise(shape)) {
    return std::nullopt;
  }
  ConvTiling tiling;
  tiling.depthwise = IsDepthwise(shape);
  const bool apart = AreApart(shape.window) && !tiling.depthwise;
  if (!apart && shape.window.kernel.size() > 3) return std::nullopt;
  LayOutSource(shape, apart, tiling);
  CutChannels(shape, tiling);
  CutRows(tiling);
  CutSum(tiling);
  if (!SetExtents(shape, tiling)) return std::nullopt;
  if (!apart) {
    tiling.source.output = tiling.extents;
    tiling.source_positions = tiling.positions;
  }
  return tiling;
}

}  // namespace attnrun::ops
