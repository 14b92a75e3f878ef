// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_CONV_TILES_H_
#define ATTNRUN_OPS_CONV_CONV_TILES_H_

#include <array>
#include <memory>

#include "absl/status/status.h"
#include "attnrun/tensor.h"
#include "ops/conv/conv_tiling.h"

// The steps of a convolution on primitives. Scratch space comes from `allocator`; an interrupted
// run returns early and leaves its output unfinished.
namespace attnrun::ops {

// Copies the images of x as `layout` says: n x image_size() floats.
void CopyImages(const ImageLayout& layout, const ConvShape& shape, const float* x, float* copy);

// Gathers the weights of one call for the tiles of one block of features (`block` counts over all
// groups): [block_features, channels, part_taps, ..] from w [M, channels of a group, kernel..].
// Features and channels beyond the last are zeros.
void GatherWeights(const ConvTiling& tiling, const float* w, int64_t block, int64_t call,
                   float* to);

// to[column][row] = from[row][column], on the calling thread.
void TransposeTile(const float* from, int64_t rows, int64_t columns, int64_t from_stride, float* to,
                   int64_t to_stride);

// y[feature][position] = rows[position][feature] for a product [count, features], on all threads;
// the positions of a feature are adjacent in y, and features `stride` floats apart.
void StoreFeatures(const float* rows, int64_t count, int64_t features, float* y, int64_t stride);

// The primitive of a tile's first call, and that of the calls that add to it (null if there are
// none).
using TilePrimitives = std::array<std::shared_ptr<const ConvPrimitive>, 2>;

struct TileOperands {
  // Written by CopyImages.
  const float* x;
  // Packed weights by block of features, then by call.
  const float* packed;
  // [M + block_features], or null.
  const float* bias;
  // [n, M, ..]
  float* y;
};

absl::Status MultiplyTiles(const ConvTiling& tiling, const TilePrimitives& primitives, int64_t n,
                           const TileOperands& operands, Allocator& allocator);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_CONV_TILES_H_
