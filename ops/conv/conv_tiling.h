// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_CONV_TILING_H_
#define ATTNRUN_OPS_CONV_CONV_TILING_H_

#include <cstdint>
#include <optional>

#include "ops/conv/conv.h"
#include "ops/conv/conv_primitive.h"

namespace attnrun::ops {

// How x is copied: the channels are cut into `groups`, and those into `pieces`, each channels last
// with the padding written out. Where windows do not overlap, a position of the copy may be a whole
// window, and its channels all elements of that window.
struct ImageLayout {
  // Channel r at position p of the copy is row r = (channel, tap), column p of the patches of
  // `source`. Positions from source_positions on hold zeros.
  SlidingWindow source;
  int64_t source_taps;
  int64_t source_positions;
  int64_t positions;
  // Rows (channel, tap) of an image, of all groups.
  int64_t rows;

  // Groups; for a depthwise convolution, blocks of channels.
  int64_t groups;
  int64_t group_channels;
  int64_t pieces;
  int64_t piece_channels;

  // Floats of one piece, and of one image's copy.
  int64_t piece_size() const { return positions * piece_channels; }
  int64_t image_size() const { return groups * pieces * piece_size(); }
};

// Makes every window a position that holds all its elements.
void LayOutWindows(const ConvShape& shape, ImageLayout& layout);
// Makes every element of the padded input a position. The caller sets `source.output`,
// `source_positions` and `positions`.
void LayOutElements(const ConvShape& shape, ImageLayout& layout);

// True if no two windows share an element, and each has adjacent elements along the last axis.
bool AreApart(const SlidingWindow& window);
// True if every channel is convolved by itself.
bool IsDepthwise(const ConvShape& shape);
// True if a sum has so few terms that writing y takes longer: wav2vec's first layer (1 channel, 10
// taps) takes 2.1 ms as a GEMM on patches for a second of sound, 3.1 ms on primitives. False for
// depthwise convolutions.
bool HasShortSum(const ConvShape& shape);
// True unless a copy of `size` floats is absurdly larger than x.
bool IsWorthCopying(const ConvShape& shape, double size);

// How a convolution is cut into calls of primitives. It depends on the shape of one image alone, so
// that results depend neither on the number of threads nor on other images.
//
// A tile of y is `tile_rows` along the first axis by one block of features. Its sum runs over
// pieces of channels and over parts of the kernel along that axis; each is one call that adds to
// the tile, so that no chain of additions is longer than those of matrix products. Where windows do
// not overlap, the convolution on the copy has a kernel of extent 1.
struct ConvTiling : ImageLayout {
  // Features of an image, and of a group.
  int64_t features;
  int64_t group_features;
  bool depthwise;
  int64_t blocks;
  int64_t block_features;
  int64_t tap_parts;
  int64_t part_taps;

  // The convolution on the copy, per axis.
  Shape kernel;
  Shape strides;
  Shape dilations;
  Shape extents;
  Shape output;
  // The product of all extents of output but the first.
  int64_t row_positions;
  // Rows of every tile; fewer of the last tile may be used.
  int64_t tile_rows;

  int64_t tiles() const { return (output[0] + tile_rows - 1) / tile_rows; }
  int64_t RowsOf(int64_t tile) const;
  // Floats from one position along the first axis to the next.
  int64_t row_size() const { return positions / extents[0] * piece_channels; }
  int64_t calls_per_tile() const { return pieces * tap_parts; }
  // The primitive for a tile's first call (with the bias, if any), and for its other calls.
  ConvPrimitiveShape FirstCall(bool bias) const;
  ConvPrimitiveShape OtherCalls() const;

 private:
  ConvPrimitiveShape Call() const;
};

// True if every window is one element, in order: the patches of x are x itself.
bool IsPointwise(const ConvShape& shape);

// Nullopt where primitives do not help: windows that overlap along more than three axes, 1x1
// kernels, sums of few terms, or windows that lie mostly in the padding.
std::optional<ConvTiling> TileConv(const ConvShape& shape);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_CONV_TILING_H_
