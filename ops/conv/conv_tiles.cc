// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/conv_tiles.h"

#include <algorithm>

#include "core/div_ceil.h"
#include "core/interrupt.h"
#include "core/parallel.h"
#include "core/status.h"
#include "ops/tensors/float_rows.h"
#include "ops/tensors/transpose_tile.h"

namespace attnrun::ops {
namespace {

// Computes tiles of y.
class TileMultiplier {
 public:
  // One thread's runners, made when they are first needed.
  using Runners = std::array<std::unique_ptr<ConvPrimitive::Runner>, 2>;

  TileMultiplier(const ConvTiling& tiling, const TilePrimitives& primitives,
                 const TileOperands& operands)
      : t_(tiling), primitives_(primitives), operands_(operands) {
    for (const auto& primitive : primitives_) {
      if (primitive != nullptr) space_ = std::max(space_, primitive->scratch_floats());
    }
    packed_size_ = primitives_[0]->packed_floats();
  }

  // Scratch space of the primitives, then the tile, channels last.
  int64_t scratch_floats() const {
    return space_ + t_.tile_rows * t_.row_positions * t_.block_features;
  }

  double products_per_tile() const {
    const double outputs = static_cast<double>(t_.tile_rows * t_.row_positions * t_.block_features);
    const int64_t weights = packed_size_ / t_.block_features;
    return outputs * static_cast<double>(weights * t_.calls_per_tile());
  }

  // `group` counts over all images, `block` within the group's features.
  void Multiply(int64_t group, int64_t tile, int64_t block, float* scratch,
                Runners& runners) const {
    const int64_t begin = group % t_.groups * t_.group_features + block * t_.block_features;
    const float* x = operands_.x + group * t_.pieces * t_.piece_size() +
                     tile * t_.tile_rows * t_.strides[0] * t_.row_size();
    const float* packed = operands_.packed + (group % t_.groups * t_.blocks + block) *
                                                 t_.calls_per_tile() * packed_size_;
    float* const y = scratch + space_;
    for (int64_t call = 0; call < t_.calls_per_tile(); ++call) {
      auto& runner = runners[call > 0];
      if (runner == nullptr) runner = primitives_[call > 0]->MakeRunner(scratch);
      const int64_t taps = call % t_.tap_parts * t_.part_taps;
      runner->Run(
          x + call / t_.tap_parts * t_.piece_size() + taps * t_.dilations[0] * t_.row_size(),
          packed + call * packed_size_,
          call == 0 && operands_.bias != nullptr ? operands_.bias + begin : nullptr, y);
    }
    Store(y, group / t_.groups, group % t_.groups, begin, tile);
  }

 private:
  void Store(const float* tile_of_y, int64_t image, int64_t group, int64_t begin,
             int64_t tile) const {
    const int64_t end = std::min((group + 1) * t_.group_features, t_.features);
    const int64_t size = t_.output[0] * t_.row_positions;
    TransposeTile(
        tile_of_y, t_.RowsOf(tile) * t_.row_positions, std::min(t_.block_features, end - begin),
        t_.block_features,
        operands_.y + (image * t_.features + begin) * size + tile * t_.tile_rows * t_.row_positions,
        size);
  }

  const ConvTiling& t_;
  const TilePrimitives& primitives_;
  const TileOperands& operands_;
  int64_t space_ = 0;
  int64_t packed_size_ = 0;
};

}  // namespace

// Takes a cache line of columns at a time: more would write too many rows of the target at once.
void TransposeTile(const float* from, int64_t rows, int64_t columns, int64_t from_stride, float* to,
                   int64_t to_stride) {
  constexpr int64_t kSize = sizeof(float);
  constexpr int64_t kLine = 16;
  for (int64_t column = 0; column < columns; column += kLine) {
    TransposeMatrix(kSize, rows, std::min(kLine, columns - column),
                    reinterpret_cast<const char*>(from + column), from_stride * kSize,
                    reinterpret_cast<char*>(to + column * to_stride), to_stride * kSize);
  }
}

void StoreFeatures(const float* rows, int64_t count, int64_t features, float* y, int64_t stride) {
  constexpr int64_t kAtOnce = 64;
  ParallelFor(DivCeil(count, kAtOnce), 1, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * kAtOnce;
    TransposeTile(rows + first * features, std::min(end * kAtOnce, count) - first, features,
                  features, y + first, stride);
  });
}

void GatherWeights(const ConvTiling& t, const float* w, int64_t block, int64_t call, float* to) {
  const int64_t group = block / t.blocks;
  const int64_t channels = t.depthwise ? 1 : t.group_channels;
  const int64_t wide = t.depthwise ? 1 : t.piece_channels;
  int64_t plane = 1;
  for (size_t axis = 1; axis < t.kernel.size(); ++axis) plane *= t.kernel[axis];
  const int64_t run = t.part_taps * plane;
  const int64_t first = call / t.tap_parts * wide;
  const int64_t begin = group * t.group_features + block % t.blocks * t.block_features;
  const int64_t end = std::min((group + 1) * t.group_features, t.features);
  std::fill_n(to, t.block_features * wide * run, 0.0F);
  for (int64_t m = begin; m < std::min(begin + t.block_features, end); ++m) {
    for (int64_t c = first; c < std::min(first + wide, channels); ++c) {
      const float* from = w + (m * channels + c) * t.kernel[0] * plane + call % t.tap_parts * run;
      std::copy_n(from, run, to + ((m - begin) * wide + c - first) * run);
    }
  }
}

absl::Status MultiplyTiles(const ConvTiling& tiling, const TilePrimitives& primitives, int64_t n,
                           const TileOperands& operands, Allocator& allocator) {
  // The fewest multiplications that are worth a thread.
  constexpr double kLeast = 1 << 19;
  const int64_t tiles = tiling.tiles();
  const int64_t blocks = tiling.blocks;
  const TileMultiplier multiplier(tiling, primitives, operands);
  return ParallelForWithScratch(
      n * tiling.groups * tiles * blocks,
      static_cast<int64_t>(kLeast / multiplier.products_per_tile()) + 1,
      multiplier.scratch_floats(), allocator, [&](int64_t begin, int64_t end, float* scratch) {
        TileMultiplier::Runners runners;
        for (int64_t i = begin; i < end; ++i) {
          if (Interrupted()) return;
          // One tile's features follow each other, so that the tile's input stays in cache.
          multiplier.Multiply(i / blocks / tiles, i / blocks % tiles, i % blocks, scratch, runners);
        }
      });
}

}  // namespace attnrun::ops
