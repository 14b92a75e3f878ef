// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_CONV_TILING_H_
#define ATTNRUN_OPS_CONV_CONV_TILING_H_

#include <cstdint>
#include <optional>

#include "ops/conv/conv.h"
#include "ops/conv/conv_primitive.h"

namespace attnrun::ops {

// How x is copied: cut into `groups` of channels and those into `pieces`, each channels last, with
// the padding written out. Where windows do not overlap, every window may be a position of its own
// whose channels are all that it holds.
struct ImageLayout {
  // Tells the elements of the copy: row (channel, tap) and column p of the patches of `source` are
  // its channel and its position. Positions from source_positions on hold zeros.
  SlidingWindow source;
  int64_t source_taps;
  int64_t source_positions;
  int64_t positions;
  // All rows of an image.
  int64_t rows;

  // Groups, or of a depthwise convolution blocks of channels.
  int64_t groups;
  int64_t group_channels;
  int64_t pieces;
  int64_t piece_channels;

  // Floats of one piece, and of the copy of one image.
  int64_t piece_size() const { return positions * piece_channels; }
  int64_t image_size() const { return groups * pieces * piece_size(); }
};

// Every window is a position, of all that it holds.
void TakeWindows(const ConvShape& shape, ImageLayout& layout);
// Every element of the padded input is a position; `source.output` and `positions` are left out.
void TakeElements(const ConvShape& shape, ImageLayout& layout);

// Whether no two windows share an element, and each holds some that lie side by side.
bool AreApart(const SlidingWindow& window);
// Whether every channel is convolved by itself.
bool IsDepthwise(const ConvShape& shape);
// Whether a sum has so few terms that writing y takes longer: wav2vec's first layer (1 channel, 10
// taps) takes 2.1 ms as a product of patches for a second of sound, 3.1 ms on primitives. Not of
// depthwise convolutions.
bool HasShortSum(const ConvShape& shape);
// Whether a copy of so many floats is not absurdly larger than x.
bool IsWorthCopying(const ConvShape& shape, double size);

// How a convolution is cut into calls of primitives. It depends on the shape of one image alone, so
// that results depend neither on the number of threads nor on other images.
//
// A tile of y is `tile_rows` along the first axis by one block of features; its sum goes over
// pieces of channels and over parts of the kernel along that axis, each a call that adds to what
// the tile holds, so that no chain of additions is longer than those of matrix products. Where
// windows do not overlap, it is a convolution of extent 1 on the copy.
struct ConvTiling : ImageLayout {
  // All features of an image, and those of a group.
  int64_t features;
  int64_t group_features;
  bool depthwise;
  int64_t blocks;
  int64_t block_features;
  int64_t tap_parts;
  int64_t part_taps;

  // Of the convolution on the copy, per axis.
  Shape kernel;
  Shape strides;
  Shape dilations;
  Shape extents;
  Shape output;
  // The product of all extents of output but the first.
  int64_t row_positions;
  // Of all tiles, though the last may hold fewer that count.
  int64_t tile_rows;

  int64_t tiles() const { return (output[0] + tile_rows - 1) / tile_rows; }
  int64_t RowsOf(int64_t tile) const;
  // Floats from one position along the first axis to the next.
  int64_t row_size() const { return positions / extents[0] * piece_channels; }
  int64_t calls_per_tile() const { return pieces * tap_parts; }
  // What the primitive for a tile's first call (with the bias, if any) computes, and for the
  // others.
  ConvPrimitiveShape FirstCall(bool bias) const;
  ConvPrimitiveShape OtherCalls() const;

 private:
  ConvPrimitiveShape Call() const;
};

// Whether every window is one element, in order: the patches of x are x itself.
bool IsPointwise(const ConvShape& shape);

// Null where primitives do not help: windows that overlap along more than three axes, little to
// sum, or windows that lie mostly in the padding.
std::optional<ConvTiling> TileConv(const ConvShape& shape);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_CONV_TILING_H_
